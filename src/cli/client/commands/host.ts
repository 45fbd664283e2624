import { resolve } from "node:path";
import type { Command } from "commander";
import { shownUrl } from "../../../base/shown-url.ts";
import { usageFailure } from "../outcome/failure.ts";
import { withHost, withoutHost } from "../target/hosts/edit-hosts.ts";
import { knownNames } from "../target/hosts/find-host.ts";
import { nameFault } from "../target/hosts/entry-checks.ts";
import type { FleetEntry } from "../target/hosts/fleet-entry.ts";
import { entryFault, type HostEntry } from "../target/hosts/host-entry.ts";
import { hostsPath, readHosts, secretsWarning } from "../target/hosts/hosts-file.ts";
import { replaceFile } from "../target/hosts/replace-file.ts";
import { complain } from "../print/complain.ts";
import { print, printJson, stdoutColors, terminalWidth } from "../print/output.ts";
import { table } from "../print/table.ts";
import { isSshUrl, sshCommand } from "../target/program/ssh-command.ts";
import { readToken } from "../target/read-token.ts";

const EXAMPLES = `
The hosts are kept in ~/.config/exec-server/hosts.toml, with the keys of Codex's environments.toml: an entry can be
copied from one file to the other, unless it has ca, cert or key, which Codex does not know. 'local' is your own server
on this machine. Fleets are tables of the same file: see 'exec-server fleet --help'.

Examples:
  exec-server host add build wss://build.example:8443 --token-file build.token
  exec-server host add web ssh://deploy@web.example
  exec-server host add box -- docker exec -i box exec-server --listen stdio
  exec-server -H build run -- make
`;

interface AddOptions {
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly replace?: boolean;
}

/** Adds `host` and its subcommands. */
export function define(program: Command): void {
  const host = program
    .command("host")
    .summary("name the servers that -H can use")
    .description("Name the servers that -H can use.")
    .usage("COMMAND")
    .addHelpText("after", EXAMPLES);
  const add = host
    .command("add")
    .description(
      "Add a host: a URL, a machine that ssh reaches, or a program that serves on stdin and stdout.",
    )
    .usage("[OPTIONS] NAME URL | NAME ssh://[USER@]MACHINE[:PORT] | NAME -- PROGRAM [ARG...]")
    .argument("<name>", "letters, digits, '-' and '_'")
    .argument("<place...>", "URL, or -- and a program with its arguments")
    .option("--token-file <PATH>", "file with the token for a URL; the token is copied")
    .option("--ca <PATH>", "authorities to trust with wss://; the path is kept, not the contents")
    .option("--cert <PATH>", "client certificate for wss://, with --key; likewise")
    .option("--key <PATH>", "private key of --cert; likewise")
    .option("--replace", "replace a host of the same name")
    .action((name: string, place: string[]) => addHost(name, place, add.opts<AddOptions>()));
  const list = host
    .command("list")
    .alias("ls")
    .description("List the hosts. Tokens are not shown.")
    .option("--json", "print one JSON document")
    .action(() => listHosts(list.opts<{ json?: boolean }>()));
  host
    .command("remove")
    .alias("rm")
    .description("Remove a host. The rest of the file, and its comments, stay.")
    .argument("<name>")
    .action(removeHost);
}

async function addHost(name: string, place: readonly string[], options: AddOptions): Promise<void> {
  const fault = nameFault(name);
  if (fault !== undefined) throw usageFailure(`the name of a host ${fault}, not '${name}'`);
  const entry = entryFor(name, place, options);
  const wrong = entryFault(entry);
  if (wrong !== undefined) throw usageFailure(`cannot add '${name}': ${wrong}`);
  const path = hostsPath();
  await replaceFile(path, () => {
    const { text = "", names, fleets } = readHosts(path);
    if (fleets.has(name)) throw usageFailure(`there is a fleet '${name}' already; choose another name`);
    const isKnown = names.includes(name);
    if (isKnown && options.replace !== true)
      throw usageFailure(`there is a host '${name}' already; give --replace to replace it`);
    return withHost(isKnown ? withoutHost(text, name, path) : text, entry, path);
  });
  if (entry.auth_bearer_token !== undefined && isPlain(entry.url ?? ""))
    complain(`the token for '${name}' travels unencrypted; use wss:// (Codex refuses such an entry)`);
}

function entryFor(
  name: string,
  [first = "", ...rest]: readonly string[],
  { tokenFile, ca, cert, key }: AddOptions,
): HostEntry {
  const isUrl = rest.length === 0 && /^[a-z][a-z+]*:\/\//i.test(first);
  if (!isUrl || isSshUrl(first)) {
    if (tokenFile !== undefined) throw usageFailure("--token-file is for a host with a URL");
    if ((ca ?? cert ?? key) !== undefined)
      throw usageFailure("--ca, --cert and --key are for a host with a URL");
    const [program, ...args] = isUrl ? sshCommand(first) : [first, ...rest];
    return { id: name, program, args };
  }
  return {
    id: name,
    url: first,
    ...(tokenFile === undefined ? {} : { auth_bearer_token: readToken(tokenFile) }),
    ...(ca === undefined ? {} : { ca: resolve(ca) }),
    ...(cert === undefined ? {} : { cert: resolve(cert) }),
    ...(key === undefined ? {} : { key: resolve(key) }),
  };
}

/** True for a connection without encryption to another machine. */
function isPlain(url: string): boolean {
  return url.startsWith("ws://") && !/^ws:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)/.test(url);
}

/** A row of the list. */
interface Listed {
  readonly name: string;
  readonly hasToken: boolean;
  readonly place: string;
}

async function listHosts({ json }: { json?: boolean }): Promise<void> {
  const { path, hosts, fleets, isExposed, faults, fleetFaults } = readHosts();
  for (const { message } of [...faults, ...fleetFaults]) complain(message);
  if (isExposed) complain(secretsWarning(path));
  if (json === true) {
    await printJson([...hosts.map(shown), ...[...fleets].map(shownFleet)]);
    return;
  }
  const { bold, dim } = stdoutColors();
  const rows = [...hosts.map(listedHost), ...[...fleets].map(listedFleet)];
  if (rows.length === 0) {
    await print(dim(`No hosts in ${path}. See 'exec-server host add --help'.`) + "\n");
    return;
  }
  const columns = [
    { title: "NAME", value: ({ name }: Listed) => name },
    { title: "TOKEN", value: ({ hasToken }: Listed) => (hasToken ? "yes" : "-") },
    { title: "PLACE", value: ({ place }: Listed) => place },
  ];
  await print(table(rows, columns, { width: terminalWidth(), titleStyle: bold }));
}

function listedHost({ id, url, program = "", args = [], auth_bearer_token: token }: HostEntry): Listed {
  const place = url === undefined ? [program, ...args].join(" ") : shownUrl(url);
  return { name: id, hasToken: token !== undefined, place };
}

/** The name of an executor follows the slash. */
function listedFleet([name, { servers, auth_bearer_token: token }]: [string, FleetEntry]): Listed {
  const place = `fleet at ${[servers].flat().join(", ")}`;
  return { name: `${name}/`, hasToken: token !== undefined, place };
}

/** Without what may be secret. */
function shown({ id, url, program, args, cwd, auth_bearer_token: token }: HostEntry): object {
  return { name: id, url: url && shownUrl(url), program, args, cwd, hasToken: token !== undefined };
}

function shownFleet([name, { servers, auth_bearer_token: token }]: [string, FleetEntry]): object {
  return { name, fleet: [servers].flat(), hasToken: token !== undefined };
}

async function removeHost(name: string): Promise<void> {
  const path = hostsPath();
  const { hosts, names } = readHosts(path);
  if (!names.includes(name)) throw usageFailure(`there is no host '${name}'; ${knownNames(hosts)}`);
  await replaceFile(path, () => withoutHost(readHosts(path).text ?? "", name, path));
}
