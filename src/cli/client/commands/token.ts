import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import { SANDBOX_PRESETS } from "../../../protocol/sandbox-options.ts";
import { PRESETS } from "../../../server/settings/presets.ts";
import { usageFailure } from "../../shared/failure.ts";
import { print, printJson, writeErr } from "../../shared/standard-streams.ts";
import { repeated } from "../arguments.ts";
import { counted } from "../../../base/amounts.ts";
import { stdoutColors } from "../print/colors.ts";
import { complain } from "../print/complain.ts";
import { printable } from "../print/printable.ts";
import { printTable } from "../print/table.ts";
import { replaceFile } from "../../shared/replace-file.ts";
import { withoutName, withoutOlderDigest, withSecondDigest, withToken } from "../tokens/edit-table.ts";
import { parseExpiry, type RightsFlags, tokenLines } from "../tokens/token-lines.ts";
import { checkLines, readTable, readTableFile, type TableEntry, tableText } from "../tokens/read-table.ts";

const TOKEN_BYTES = 32;
/** Distinguishes it from options, and lets tools that search for leaked secrets find it. */
const TOKEN_PREFIX = "exs_";

interface NewOptions extends RightsFlags {
  readonly table?: string;
  readonly output?: string;
  readonly rotate?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
The token is printed once, on stdout, or written to the file of --output; nobody can tell it from the table. Without
--table, the lines for the table are printed on stderr. A server with '--ws-auth token-table --ws-token-table FILE' reads its table again when it changes.

To exchange a token: 'token new NAME --rotate', give the new one to the clients, then 'token retire NAME'. To end all
tokens of a name: 'token revoke NAME'.

Examples:
  exec-server token new ci --table tokens.toml --preset sandboxed --write /srv/build --expires 90d --output ci.token
  exec-server token new backup --table tokens.toml --preset files --root /srv/data --read-only
  exec-server token new ci --table tokens.toml --rotate --output ci.token
  exec-server token retire ci --table tokens.toml
  exec-server token revoke ci --table tokens.toml
  exec-server token list tokens.toml
`;

/** Adds `token` and its subcommands. */
export function define(program: Command): void {
  const token = program
    .command("token")
    .summary("make, list and revoke the named tokens of a server")
    .description("Make, list and revoke the named tokens of a server.")
    .usage("COMMAND")
    .addHelpText("after", EXAMPLES);
  const create = token
    .command("new")
    .description("Make a token, and print it once.")
    .usage("[OPTIONS] NAME")
    .argument("<name>", "name of the token's holder: letters, digits, '_', '.' and '-'")
    .option("--table <FILE>", "add the token to this table, which is created if it is missing")
    .addOption(new Option("--preset <PRESET>", "what the holder may do (default: observe)").choices(PRESETS))
    .option("--expires <WHEN>", "30d, 12h, 2027-01-31 or 2027-01-31T12:00Z (default: never)", (text) =>
      parseExpiry(text),
    )
    .option("--root <DIR>", "for 'files': a directory the holder may use (repeatable)", repeated)
    .option("--read-only", "for 'files': allow no changes")
    .option("--write <DIR>", "for 'sandboxed': a writable directory (repeatable)", repeated)
    .option("--read <PATH>", "for 'sandboxed': a readable path, instead of everything (repeatable)", repeated)
    .option("--deny <PATH>", "for 'sandboxed': a path to deny (repeatable)", repeated)
    .option("--network", "for 'sandboxed': allow the network")
    .addOption(
      new Option("--policy <POLICY>", "for 'sandboxed': a ready-made policy (default: read-only)").choices(
        SANDBOX_PRESETS,
      ),
    )
    .option("--limit <KEY=NUMBER>", "a limit for this token, such as max_processes=50 (repeatable)", repeated)
    .option("--run-as <USER>", "do everything as this user of the machine; the server must be root")
    .option("--see <NAME>", "a token whose kept processes it may follow, or '*' (repeatable)", repeated)
    .option("--control <NAME>", "a token whose kept processes it may control, or '*' (repeatable)", repeated)
    .option("--output <FILE>", "write the token to this file, for its owner alone, instead of printing it")
    .option("--rotate", "add a second token to a name in the table; the first one stays valid")
    .option("--json", "print one JSON document")
    .addHelpText("after", EXAMPLES);
  create.action((name: string) => makeToken(name, create.opts<NewOptions>()));
  const retire = token
    .command("retire")
    .description("Revoke the older of the two tokens that a name has after --rotate.")
    .argument("<name>")
    .requiredOption("--table <FILE>", "token table")
    .action((name: string) => retireToken(name, retire.opts<{ table: string }>().table));
  const revoke = token
    .command("revoke")
    .description("Revoke all tokens of a name, and remove it from the table. Its connections end.")
    .argument("<name>")
    .requiredOption("--table <FILE>", "token table")
    .action((name: string) => revokeTokens(name, revoke.opts<{ table: string }>().table));
  const list = token
    .command("list")
    .alias("ls")
    .description("List the tokens of a table.")
    .argument("<file>", "token table")
    .option("--json", "print one JSON document")
    .action((file: string) => listTokens(file, list.opts<{ json?: boolean }>()));
  token
    .command("check")
    .description("Check a token table as a server would, and report the first faulty line.")
    .argument("<file>", "token table")
    .action(checkTable);
}

/** A new token, and what the token table holds of it. */
function newToken(): { readonly token: string; readonly sha256: string } {
  const token = `${TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString("base64url")}`;
  return { token, sha256: createHash("sha256").update(token).digest("hex") };
}

async function makeToken(name: string, options: NewOptions): Promise<void> {
  const { table: path, output, rotate, json, ...flags } = options;
  if (output !== undefined && json === true) throw usageFailure("use either --output or --json");
  // Clients read the file of a token that is exchanged.
  if (output !== undefined && rotate !== true && existsSync(output))
    throw usageFailure(`${output} exists; remove it, or choose another file`);
  const made = newToken();
  if (rotate === true) {
    if (path === undefined) throw usageFailure("--rotate needs --table");
    const [other] = Object.keys(flags);
    if (other !== undefined)
      throw usageFailure(`--rotate keeps the rights of '${name}'; change them in ${path}`);
    await change(path, (text) => withSecondDigest(path, text, name, made.sha256), shown);
    if (json !== true)
      complain(`'${name}' has a second token in ${path}; the first one is valid until 'token retire'`);
    return;
  }
  const lines = tokenLines(name, made.sha256, flags);
  await checkLines(lines, path);
  if (path === undefined) {
    await shown();
    if (json !== true) writeErr(`\n# for the token table\n${lines}`);
    return;
  }
  await change(path, (text) => withToken(path, text, name, lines), shown);
  if (json !== true) complain(`'${name}' was added to ${path}`);

  /** Before the table changes: a token that was never shown would be useless. */
  async function shown(): Promise<void> {
    if (output !== undefined) await replaceFile(output, () => `${made.token}\n`);
    else if (json === true) await printJson({ name, ...made, ...(rotate === true ? {} : { lines }) });
    else await print(`${made.token}\n`);
  }
}

async function revokeTokens(name: string, path: string): Promise<void> {
  await change(path, (text) => withoutName(path, text, name));
  const isLast = (await readTable(path, tableText(path))).length === 0;
  complain(
    `every token of '${name}' is revoked${isLast ? `; ${path} has no tokens left, so it admits nobody` : ""}`,
  );
}

async function retireToken(name: string, path: string): Promise<void> {
  await change(path, (text) => withoutOlderDigest(path, text, name));
  complain(`the older token of '${name}' is revoked; the newer one stays valid`);
}

/** Changes a table in one step. It keeps its owner and mode: the server may run as another user. */
async function change(
  path: string,
  edit: (text: string) => Promise<string>,
  beforeWriting?: () => Promise<void>,
): Promise<void> {
  const edited = async (file: string): Promise<string> => {
    const text = await edit(tableText(file));
    await beforeWriting?.();
    return text;
  };
  await replaceFile(path, edited, { keepAccess: true });
}

async function listTokens(file: string, { json }: { json?: boolean }): Promise<void> {
  const entries = await readTableFile(file);
  if (json === true) {
    const listed = entries.map(({ name, preset, expiresAtMs, sha256 }) => {
      const expires = expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString();
      return { name, preset, expires, tokens: sha256.length };
    });
    await printJson(listed);
    return;
  }
  const { red } = stdoutColors();
  const now = Date.now();
  await printTable(entries, [
    { title: "NAME", value: ({ name }) => name },
    { title: "PRESET", value: ({ preset }) => preset },
    { title: "TOKENS", value: ({ sha256 }) => String(sha256.length), align: "right" },
    {
      title: "EXPIRES",
      value: (entry) => expiryText(entry, now),
      style: (text, entry) => (isOver(entry, now) ? red(text) : text),
    },
  ]);
}

async function checkTable(file: string): Promise<void> {
  const entries = await readTableFile(file);
  const over = entries.filter((entry) => isOver(entry, Date.now()));
  for (const { name } of over) complain(`${file}: the token '${name}' has expired`);
  await print(`${printable(file)}: ${counted(entries.length, "token")}, nothing wrong\n`);
}

function expiryText(entry: TableEntry, now: number): string {
  if (entry.expiresAtMs === undefined) return "never";
  const moment = `${new Date(entry.expiresAtMs).toISOString().slice(0, 16)}Z`;
  return isOver(entry, now) ? `${moment} (expired)` : moment;
}

function isOver({ expiresAtMs = Infinity }: TableEntry, now: number): boolean {
  return expiresAtMs <= now;
}
