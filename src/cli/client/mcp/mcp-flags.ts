import { homedir, hostname } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { type Command, Option } from "commander";
import type { Logger } from "../../../base/logger.ts";
import type { McpOptions } from "../../../mcp/mcp-client.ts";
import { Machine } from "../../../mcp/machine/machine.ts";
import type { Confinement } from "../../../mcp/machine/workspace.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { VERSION } from "../../shared/version.ts";
import { repeated } from "../arguments.ts";
import { complain } from "../print/complain.ts";
import { variables, variablesForModels } from "../running/start-options.ts";
import { namedSecrets, ownSecretValues, withSecrets } from "../running/secret-flags.ts";
import { openTarget } from "../target/connect-target.ts";
import { localDirectory } from "../target/remote-path.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { type Target, targetName } from "../target/target.ts";
import type { TargetOptions } from "../target/target-options.ts";

/** What a model may do. */
export interface McpFlags extends TargetOptions {
  readonly root?: readonly string[];
  readonly readOnly?: boolean;
  readonly sandbox?: "workspace-write" | "none";
  readonly network?: boolean;
  readonly tools?: readonly string[];
  readonly ask?: readonly string[];
  readonly env?: readonly string[];
  readonly secret?: readonly string[];
}

/** Variables that decide how output looks: a model gets plain text. */
const ABOUT_TERMINALS = ["TERM", "COLORTERM", "CLICOLOR", "PAGER", "GIT_PAGER", "GH_PAGER", "LESS"];
/** The agent would sign for the user, whose keys a sandbox keeps out of reach. */
const AGENT = "SSH_AUTH_SOCK";

/** Adds these options. */
export function withMcp(command: Command): Command {
  return withSecrets(command, "commands")
    .option(
      "--root <PATH>",
      "directory that may be changed [default: the working directory] (repeatable)",
      repeated,
    )
    .option("--read-only", "change nothing: no tools that write, and a sandbox without write access")
    .option("--tools <NAMES>", "offer only these tools, such as read_file,search_files", parseNames)
    .option("--ask <NAMES>", "have the client ask its user before each call of these tools", parseNames)
    .option("--network", "give commands a network, and offer http_request")
    .option("--env <K=V>", "set a variable for commands; K alone copies yours (repeatable)", repeated)
    .addOption(
      new Option("--sandbox <NAME>", "confine commands and files [default: workspace-write]").choices([
        "workspace-write",
        "none",
      ]),
    );
}

const parseNames = (text: string, earlier: readonly string[] = []): readonly string[] => [
  ...earlier,
  ...text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== ""),
];

/** Throws a Failure for options that contradict each other. */
export function checkFlags({ readOnly, sandbox, network, tools, root = [] }: McpFlags): void {
  const isOpen = sandbox === "none";
  if (isOpen && readOnly === true)
    throw usageFailure("--read-only needs a sandbox; leave out --sandbox none");
  if (isOpen && network === true)
    throw usageFailure("--sandbox none has a network already; leave out --network");
  if (tools?.length === 0) throw usageFailure("--tools needs names of tools, such as read_file,search_files");
  if (root.includes("")) throw usageFailure("--root needs a path");
}

/** What the options mean. */
export async function mcpOptions(flags: McpFlags): Promise<McpOptions> {
  checkFlags(flags);
  const target = await resolveTarget(flags);
  const isLocal = isThisMachine(target);
  const confinement: Confinement =
    flags.readOnly === true ? "read-only" : flags.sandbox === "none" ? "none" : "workspace-write";
  return {
    machine: new Machine({
      name: isLocal ? hostname() : targetName(target),
      isLocal,
      open: (signal) => openTarget(target, flags, "session", { clientName: "exec-server-mcp", signal }),
    }),
    roots: rootsOf(flags, isLocal),
    ...(isLocal ? { directory: localDirectory(), home: homedir() } : {}),
    ...defined({ tools: flags.tools, ask: flags.ask }),
    confinement,
    network: flags.network === true,
    secrets: flags.secret === undefined ? undefined : namedSecrets(flags.secret),
    env: environment(flags, { isOwn: target.kind === "own", confinement }),
    version: VERSION,
    logger: stderrLogger,
  };
}

/** `--url stdio` starts a server here. */
export function isThisMachine(target: Target): boolean {
  return target.kind === "own" || (target.kind === "program" && target.name === "stdio");
}

/** Absolute paths: those of another machine do not begin in this directory. */
export function rootsOf({ root = [] }: McpFlags, isLocal: boolean): readonly string[] {
  if (isLocal) return root.map((path) => resolve(path));
  const relative = root.find((path) => !isAbsolute(path));
  if (relative !== undefined)
    throw usageFailure(`--root must be an absolute path on another machine, not '${relative}'`);
  return root;
}

function environment(
  { env = [], secret }: McpFlags,
  { isOwn, confinement }: { readonly isOwn: boolean; readonly confinement: Confinement },
): Record<string, string> {
  const withheld = [...ABOUT_TERMINALS, ...(confinement === "none" ? [] : [AGENT])];
  const inherited = isOwn ? variablesForModels().filter(([name]) => !withheld.includes(name)) : [];
  const own = isOwn ? ownSecretValues(secret) : [];
  return Object.fromEntries([...inherited, ...own, ...variables(env)]);
}

/** Clients keep what a server writes to stderr. */
const stderrLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => complain(line(message, fields)),
  error: (message, fields) => complain(line(message, fields)),
};

function line(message: string, fields: object = {}): string {
  const details = Object.values(fields).map(String);
  return [message, ...details].join(": ");
}
