import { repeated } from "../arguments.ts";
import { type Command, Option } from "commander";
import { SANDBOX_PRESETS } from "../../../protocol/sandbox-options.ts";
import { PRESETS } from "../../../server/settings/presets.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { usageFailure } from "../outcome/failure.ts";
import { complain } from "../print/complain.ts";
import { print, printJson, stdoutColors, terminalWidth } from "../print/output.ts";
import { printable } from "../print/printable.ts";
import { table } from "../print/table.ts";
import { replaceFile } from "../target/hosts/replace-file.ts";
import { withoutOlderDigest, withSecondDigest, withToken } from "../tokens/edit-table.ts";
import { newToken } from "../tokens/new-token.ts";
import { parseExpiry } from "../tokens/parse-expiry.ts";
import { checkLines, readTableFile, type TableEntry, tableText } from "../tokens/read-table.ts";
import { type RightsFlags, tokenLines } from "../tokens/token-lines.ts";

interface NewOptions extends RightsFlags {
  readonly table?: string;
  readonly rotate?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
The token is printed once, on stdout; nobody can tell it from the table. Without --table, the lines for the table are
printed on stderr. A server with '--ws-auth token-table --ws-token-table FILE' reads its table again when it changes.

To exchange a token: 'token new NAME --rotate', give the new one to the clients, then 'token retire NAME'.

Examples:
  exec-server token new ci --table tokens.toml --preset sandboxed --write /srv/build --expires 90d > ci.token
  exec-server token new backup --table tokens.toml --preset files --root /srv/data --read-only
  exec-server token new ci --table tokens.toml --rotate > ci.token
  exec-server token retire ci --table tokens.toml
  exec-server token list tokens.toml
`;

/** Adds `token` and its subcommands. */
export function define(program: Command): void {
  const token = program
    .command("token")
    .summary("make and list the named tokens of a server")
    .description("Make and list the named tokens of a server.")
    .usage("COMMAND")
    .addHelpText("after", EXAMPLES);
  const create = token
    .command("new")
    .description("Make a token, and print it once.")
    .usage("[OPTIONS] NAME")
    .argument("<name>", "whom the token is for: letters, digits, '_', '.' and '-'")
    .option("--table <FILE>", "add the token to this table, which is created if it is missing")
    .addOption(new Option("--preset <PRESET>", "what its holder may do (default: observe)").choices(PRESETS))
    .option("--expires <WHEN>", "30d, 12h, 2027-01-31 or 2027-01-31T12:00Z (default: never)", (text) =>
      parseExpiry(text),
    )
    .option("--root <DIR>", "for 'files': a directory within reach; repeatable", repeated)
    .option("--read-only", "for 'files': nothing can be changed")
    .option("--write <DIR>", "for 'sandboxed': a directory that can be written; repeatable", repeated)
    .option(
      "--read <PATH>",
      "for 'sandboxed': all that can be read, instead of everything; repeatable",
      repeated,
    )
    .option("--deny <PATH>", "for 'sandboxed': what is out of reach; repeatable", repeated)
    .option("--network", "for 'sandboxed': other machines can be reached")
    .addOption(
      new Option("--policy <POLICY>", "for 'sandboxed': a ready-made policy (default: read-only)").choices(
        SANDBOX_PRESETS,
      ),
    )
    .option("--limit <KEY=NUMBER>", "a limit of its own, such as max_processes=50; repeatable", repeated)
    .option("--run-as <USER>", "do everything as this user of the machine; the server must be root")
    .option("--see <NAME>", "a token whose kept processes it may follow, or '*'; repeatable", repeated)
    .option("--control <NAME>", "a token whose kept processes it may control, or '*'; repeatable", repeated)
    .option("--rotate", "give a name of the table a second token; the first one stays valid")
    .option("--json", "print one JSON document")
    .addHelpText("after", EXAMPLES);
  create.action((name: string) => makeToken(name, create.opts<NewOptions>()));
  const retire = token
    .command("retire")
    .description("End the older one of the two tokens that a name has after --rotate.")
    .argument("<name>")
    .requiredOption("--table <FILE>", "token table")
    .action((name: string) => retireToken(name, retire.opts<{ table: string }>().table));
  const list = token
    .command("list")
    .alias("ls")
    .description("List the tokens of a table.")
    .argument("<file>", "token table")
    .option("--json", "print one JSON document")
    .action((file: string) => listTokens(file, list.opts<{ json?: boolean }>()));
  token
    .command("check")
    .description("Read a token table as a server would, and name the first line that is wrong.")
    .argument("<file>", "token table")
    .action(checkTable);
}

async function makeToken(name: string, options: NewOptions): Promise<void> {
  const { table: path, rotate, json, ...flags } = options;
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

  /** Before the table changes: a token that nobody has seen would be of no use. */
  async function shown(): Promise<void> {
    if (json === true) await printJson({ name, ...made, ...(rotate === true ? {} : { lines }) });
    else await print(`${made.token}\n`);
  }
}

async function retireToken(name: string, path: string): Promise<void> {
  await change(path, (text) => withoutOlderDigest(path, text, name));
  complain(`the older token of '${name}' ends; the newer one is valid`);
}

/** Changes a table in one step. It keeps its owner and mode: the server may run as another user. */
async function change(
  path: string,
  edit: (text: string) => Promise<string>,
  beforeWriting?: () => Promise<void>,
): Promise<void> {
  const edited = async (place: string): Promise<string> => {
    const text = await edit(tableText(place));
    await beforeWriting?.();
    return text;
  };
  await replaceFile(path, edited, { keepAccess: true });
}

async function listTokens(file: string, { json }: { json?: boolean }): Promise<void> {
  const entries = await readTableFile(file);
  if (json === true) {
    await printJson(
      entries.map(({ name, preset, expiresAtMs, sha256 }) => ({
        name,
        preset,
        ...(expiresAtMs === undefined ? {} : { expires: new Date(expiresAtMs).toISOString() }),
        tokens: sha256.length,
      })),
    );
    return;
  }
  const { bold, red } = stdoutColors();
  const now = Date.now();
  const columns = [
    { title: "NAME", value: ({ name }: TableEntry) => name },
    { title: "PRESET", value: ({ preset }: TableEntry) => preset },
    { title: "TOKENS", value: ({ sha256 }: TableEntry) => String(sha256.length), align: "right" as const },
    {
      title: "EXPIRES",
      value: (entry: TableEntry) => expiryText(entry, now),
      style: (text: string, entry: TableEntry) => (isOver(entry, now) ? red(text) : text),
    },
  ];
  await print(table(entries, columns, { width: terminalWidth(), titleStyle: bold }));
}

async function checkTable(file: string): Promise<void> {
  const entries = await readTableFile(file);
  const over = entries.filter((entry) => isOver(entry, Date.now()));
  for (const { name } of over) complain(`${file}: the token '${name}' has expired`);
  await print(
    `${printable(file)}: ${entries.length} ${entries.length === 1 ? "token" : "tokens"}, nothing wrong\n`,
  );
}

function expiryText(entry: TableEntry, now: number): string {
  if (entry.expiresAtMs === undefined) return "never";
  const moment = `${new Date(entry.expiresAtMs).toISOString().slice(0, 16)}Z`;
  return isOver(entry, now) ? `${moment} (expired)` : moment;
}

function isOver({ expiresAtMs = Infinity }: TableEntry, now: number): boolean {
  return expiresAtMs <= now;
}
