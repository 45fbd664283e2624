import { resolve } from "node:path";
import type { Command } from "commander";
import { shownUrl } from "../../../base/shown-url.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { print, printJson } from "../../shared/standard-streams.ts";
import { readToken } from "../arguments.ts";
import { stdoutColors } from "../print/colors.ts";
import { complain } from "../print/complain.ts";
import { printTable } from "../print/table.ts";
import { withChangedHost, withHost, withoutHost } from "../target/hosts/edit-hosts.ts";
import { editInEditor } from "../target/hosts/edit-in-editor.ts";
import { nameFault } from "../target/hosts/entry-checks.ts";
import { knownNames } from "../target/hosts/find-host.ts";
import type { FleetEntry } from "../target/hosts/fleet-entry.ts";
import { entryFault, type HostEntry } from "../target/hosts/host-entry.ts";
import { hostsPath } from "../../shared/hosts-path.ts";
import { readHosts, secretsWarning } from "../target/hosts/hosts-file.ts";
import { replaceFile } from "../../shared/replace-file.ts";
import { isSshUrl, sshCommand, withRemoteCommand } from "../target/program/ssh-command.ts";
import { testHost } from "../target/test-host.ts";
import type { TargetOptions } from "../target/target-options.ts";

const EXAMPLES = `
The hosts are kept in ~/.config/exec-server/hosts.toml, with the keys of Codex's environments.toml: an entry can be
copied from one file to the other, unless it has ca, cert or key, which Codex does not know. 'local' is your own server
on this machine. Fleets are tables of the same file: see 'exec-server fleet --help'.

Examples:
  exec-server host add build wss://build.example:8443 --token-file build.token
  exec-server host add web ssh://deploy@web.example
  exec-server host test web
  exec-server host edit web --remote-command /opt/node/bin/exec-server
  exec-server host add box -- docker exec -i box exec-server --listen stdio
  exec-server -H build run -- make
`;

/** Options of an entry besides its address. */
interface EntryOptions extends Pick<TargetOptions, "tokenFile" | "ca" | "cert" | "key"> {
  readonly remoteCommand?: string;
}

interface AddOptions extends EntryOptions {
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
  const add = withEntryOptions(
    host
      .command("add")
      .description(
        "Add a host: a URL, a machine that ssh reaches, or a program that serves on stdin and stdout.",
      )
      .usage("[OPTIONS] NAME URL | NAME ssh://[USER@]MACHINE[:PORT] | NAME -- PROGRAM [ARG...]")
      .argument("<name>", "letters, digits, '-' and '_'")
      .argument("<place...>", "URL, or -- and a program with its arguments"),
  )
    .option("--replace", "replace a host of the same name")
    .action((name: string, address: string[]) => addHost(name, address, add.opts<AddOptions>()));
  const edit = withEntryOptions(
    host
      .command("edit")
      .description(
        "Change a host. Without options, edit the file of hosts and fleets with $VISUAL or $EDITOR.",
      )
      .argument("[name]"),
  ).action((name?: string) => editHosts(name, edit.opts<EntryOptions>()));
  const list = host
    .command("list")
    .alias("ls")
    .description("List the hosts. Tokens are not shown.")
    .option("--json", "print one JSON document")
    .action(() => listHosts(list.opts<{ json?: boolean }>()));
  const test = host
    .command("test")
    .description("Connect to a host, and print step by step what works and how long it takes.")
    .argument("<name>", "what -H takes: a host, FLEET/NAME or ssh://[USER@]HOST[:PORT]")
    .option("--no-bring", "do not put exec-server on a machine that lacks it")
    .action((name: string) => testHost(name, test.opts<Pick<TargetOptions, "bring">>()));
  host
    .command("remove")
    .alias("rm")
    .description("Remove a host. The rest of the file, and its comments, stay.")
    .argument("<name>")
    .action(removeHost);
}

function withEntryOptions(command: Command): Command {
  return command
    .option("--token-file <PATH>", "file with the token for a URL; the token is copied")
    .option("--ca <PATH>", "CA certificates to trust with wss:// (the path is stored, not the contents)")
    .option("--cert <PATH>", "client certificate for wss://, with --key; likewise")
    .option("--key <PATH>", "private key of --cert; likewise")
    .option("--remote-command <CMD>", "exec-server on a machine that ssh reaches [default: exec-server]");
}

async function addHost(name: string, address: readonly string[], options: AddOptions): Promise<void> {
  const wrongName = nameFault(name);
  if (wrongName !== undefined) throw usageFailure(`'${name}' cannot be a host name: it ${wrongName}`);
  const entry = entryFor(name, address, options);
  const fault = entryFault(entry);
  if (fault !== undefined) throw usageFailure(`cannot add '${name}': ${fault}`);
  const path = hostsPath();
  await replaceFile(path, () => {
    const { text = "", names, fleets } = readHosts(path);
    if (fleets.has(name)) throw usageFailure(`there is a fleet '${name}' already; choose another name`);
    const isKnown = names.includes(name);
    if (isKnown && options.replace !== true)
      throw usageFailure(`there is a host '${name}' already; use --replace to replace it`);
    return withHost(isKnown ? withoutHost(text, name, path) : text, entry, path);
  });
  warnOfPlainToken(entry);
}

function warnOfPlainToken({ id, url = "", auth_bearer_token: token }: HostEntry): void {
  if (token !== undefined && isPlain(url))
    complain(`the token for '${id}' travels unencrypted; use wss:// (Codex refuses such an entry)`);
}

async function editHosts(name: string | undefined, options: EntryOptions): Promise<void> {
  const path = hostsPath();
  const hasOptions = Object.keys(options).length > 0;
  if (name === undefined && hasOptions) throw usageFailure("name the host that these options are about");
  const { hosts } = readHosts(path);
  if (name !== undefined && !hosts.some(({ id }) => id === name))
    throw usageFailure(`there is no host '${name}'; ${knownNames(hosts)}`);
  if (!hasOptions) return await editInEditor(path);
  let entry: HostEntry | undefined;
  await replaceFile(path, () => {
    const { text = "", hosts: now } = readHosts(path);
    entry = changedEntry(now.find(({ id }) => id === name)!, options);
    const fault = entryFault(entry);
    if (fault !== undefined) throw usageFailure(`cannot change '${name}': ${fault}`);
    return withChangedHost(text, entry, path);
  });
  if (entry !== undefined) warnOfPlainToken(entry);
}

function changedEntry(entry: HostEntry, { remoteCommand, ...options }: EntryOptions): HostEntry {
  if (remoteCommand === undefined) return { ...entry, ...urlKeys(options) };
  const args = entry.program === "ssh" ? withRemoteCommand(entry.args ?? [], remoteCommand) : undefined;
  if (args === undefined)
    throw usageFailure(`--remote-command needs a host that ssh reaches, which '${entry.id}' is not`);
  return { ...entry, ...urlKeys(options), args };
}

function entryFor(
  name: string,
  [first = "", ...rest]: readonly string[],
  { remoteCommand, ...options }: AddOptions,
): HostEntry {
  const isUrl = rest.length === 0 && /^[a-z][a-z+]*:\/\//i.test(first);
  if (remoteCommand !== undefined && !isSshUrl(first))
    throw usageFailure("--remote-command needs a host that ssh reaches: ssh://MACHINE");
  if (isUrl && !isSshUrl(first)) return { id: name, url: first, ...urlKeys(options) };
  const { tokenFile, ca, cert, key } = options;
  if (tokenFile !== undefined) throw usageFailure("--token-file needs a host with a URL");
  if ((ca ?? cert ?? key) !== undefined) throw usageFailure("--ca, --cert and --key need a host with a URL");
  const [program, ...args] = isUrl ? sshCommand(first, remoteCommand) : [first, ...rest];
  return { id: name, program, args };
}

/** Keys of an entry with a URL. */
function urlKeys({ tokenFile, ca, cert, key }: EntryOptions) {
  return defined({
    auth_bearer_token: readToken(tokenFile),
    ca: ca && resolve(ca),
    cert: cert && resolve(cert),
    key: key && resolve(key),
  });
}

/** True for a connection without encryption to another machine. */
function isPlain(url: string): boolean {
  return url.startsWith("ws://") && !/^ws:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)/.test(url);
}

async function listHosts({ json }: { json?: boolean }): Promise<void> {
  const { path, hosts, fleets, isExposed, faults, fleetFaults } = readHosts();
  for (const { message } of [...faults, ...fleetFaults]) complain(message);
  if (isExposed) complain(secretsWarning(path));
  if (json === true) {
    await printJson([...hosts.map(shown), ...[...fleets].map(shownFleet)]);
    return;
  }
  const rows = [...hosts.map(hostRow), ...[...fleets].map(fleetRow)];
  if (rows.length === 0) {
    await print(stdoutColors().dim(`No hosts in ${path}. See 'exec-server host add --help'.`) + "\n");
    return;
  }
  await printTable(rows, [
    { title: "NAME", value: ({ name }) => name },
    { title: "TOKEN", value: ({ token }) => (token === undefined ? "-" : "yes") },
    { title: "PLACE", value: ({ address }) => address },
  ]);
}

function hostRow({ id, url, program = "", args = [], auth_bearer_token: token }: HostEntry) {
  return { name: id, token, address: url === undefined ? [program, ...args].join(" ") : shownUrl(url) };
}

/** The name of an executor follows the slash. */
function fleetRow([name, { servers, auth_bearer_token: token }]: [string, FleetEntry]) {
  return { name: `${name}/`, token, address: `fleet at ${[servers].flat().join(", ")}` };
}

/** Leaves out what may be secret. */
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
