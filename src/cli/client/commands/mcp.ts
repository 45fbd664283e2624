import { existsSync, lstatSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { isatty } from "node:tty";
import { Argument, type Command } from "commander";
import { Failure, usageFailure } from "../../shared/failure.ts";
import { readSmallFile } from "../../shared/read-small-file.ts";
import { replaceFile } from "../../shared/replace-file.ts";
import { print } from "../../shared/standard-streams.ts";
import { MCP_CLIENTS } from "../mcp/mcp-clients.ts";
import { type McpFlags, mcpOptions, withMcp } from "../mcp/mcp-flags.ts";
import { setAction } from "../outcome/end-with.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";
import { complain } from "../print/complain.ts";
import { localDirectory } from "../target/remote-path.ts";
import { withTarget } from "../target/target-options.ts";

const EXAMPLES = `
Programs such as Claude Code, Cursor, VS Code and Codex start it, and speak the Model Context Protocol with it on stdin
and stdout. Their models can then run commands and change files where -H or --url says, on this machine without them,
below the roots and in /tmp only. Commands have no network. They survive a lost connection to the machine, and end with
the program that started this one.

'mcp config CLIENT' prints what a client needs, and 'mcp install CLIENT' writes it into the client's file.

Examples:
  exec-server mcp config cursor
  exec-server mcp install claude-code --project
  exec-server mcp install codex -H build --root /srv/app --network
  exec-server mcp --root ~/src/app --read-only
`;

const CONFIG_EXAMPLES = `
The client starts 'exec-server mcp' with the same options. Paths are absolute, and tokens are not printed: with --url,
the client passes on EXEC_SERVER_TOKEN, or pass --token-file.

Examples:
  exec-server mcp config claude-desktop --root ~/src/app
  exec-server mcp config vscode -H build --root /srv/app
`;

const INSTALL_EXAMPLES = `
Everything else in the file stays as it is, comments too; an entry of the same name is replaced. With --project, the file
is the project's in the working directory, which is also the root, unless --root or another machine is named.

Examples:
  exec-server mcp install cursor --project
  exec-server mcp install codex -H build --root /srv/app --name build
`;

const NAME = /^[A-Za-z0-9][\w-]{0,63}$/;
const DEFAULT_NAME = "exec-server";

interface ConfigFlags extends McpFlags {
  readonly name?: string;
  readonly project?: boolean;
}

/** Adds `mcp` and its subcommands. */
export function define(program: Command): void {
  const mcp = program
    .command("mcp")
    .summary("give a machine to Claude Code, Cursor, Codex and others (MCP)")
    .description(
      "Give a program with a language model commands and files on a machine, over the Model Context Protocol.",
    )
    .usage("[OPTIONS]");
  withMcp(mcp).addHelpText("after", EXAMPLES);
  setAction(withTarget(mcp), serve);
  const config = mcp
    .command("config")
    .description("Print what belongs in the configuration of a client.")
    .usage("[OPTIONS] CLIENT")
    .addArgument(clientArgument());
  withName(withMcp(config)).addHelpText("after", CONFIG_EXAMPLES);
  setAction(withTarget(config), printConfig);
  const install = mcp
    .command("install")
    .description("Write it into the client's file.")
    .usage("[OPTIONS] CLIENT")
    .addArgument(clientArgument())
    .option("--project", "into the project's file, in the working directory");
  withName(withMcp(install)).addHelpText("after", INSTALL_EXAMPLES);
  setAction(withTarget(install), installServer);
}

/** A client waits for `mcp` itself, which needs none of it. */
const configuring = async () => ({
  ...(await import("../mcp/edit-config.ts")),
  ...(await import("../mcp/server-entry.ts")),
});

const clientArgument = (): Argument =>
  new Argument("<client>", "the program that starts it").choices(Object.keys(MCP_CLIENTS));

const withName = (command: Command): Command =>
  command.option("--name <NAME>", `name of the entry [default: ${DEFAULT_NAME}]`);

/** Resolves with the exit status when the client has gone. */
async function serve(flags: McpFlags): Promise<number> {
  const options = await mcpOptions(flags);
  if (isatty(0))
    complain(
      "a program starts this, and speaks the Model Context Protocol with it; see 'exec-server mcp --help'",
    );
  const { serveMcpStdio } = await import("../../../mcp/serve-stdio.ts");
  await untilInterrupted((signal) => serveMcpStdio(options, signal));
  return 0;
}

async function printConfig(client: string, flags: ConfigFlags): Promise<void> {
  const { configText, serverEntry } = await configuring();
  const entry = await serverEntry(flags, undefined);
  await print(configText(MCP_CLIENTS[client]!, nameOf(flags), entry));
}

async function installServer(clientName: string, flags: ConfigFlags): Promise<void> {
  const client = MCP_CLIENTS[clientName]!;
  const { title, projectFile, userFile, byHand } = client;
  const project = flags.project === true ? localDirectory() : undefined;
  const file = project === undefined ? userFile?.() : projectFile && resolve(project, projectFile);
  if (file === undefined) throw usageFailure(`${title} has no file to write; ${byHand}`);
  const name = nameOf(flags);
  const { serverEntry, withServer } = await configuring();
  const entry = await serverEntry(flags, project);
  if (!existsSync(file) && lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new Failure(`cannot write ${file}: it is a link to a file that does not exist`);
  await replaceFile(file, (path) => withServer(client, readIfThere(path), file, name, entry), {
    keepAccess: true,
  });
  await print(`${title} has the server '${name}' in ${realpathSync(file)}; restart ${title} to use it\n`);
}

function nameOf({ name = DEFAULT_NAME }: ConfigFlags): string {
  if (!NAME.test(name))
    throw usageFailure(`--name needs up to 64 letters, digits, '_' and '-', not '${name}'`);
  return name;
}

const readIfThere = (path: string): string => (existsSync(path) ? readSmallFile(path).toString() : "");
