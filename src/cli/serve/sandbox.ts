import { statSync } from "node:fs";
import { resolve } from "node:path";
import { uriFromPath } from "../../base/file-uri.ts";
import { visibleLines } from "../../base/visible-text.ts";
import {
  describePolicy,
  type PolicyDescription,
  policyLines,
} from "../../capabilities/sandbox/describe-policy.ts";
import { narrow, type SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { viewOf } from "../../capabilities/sandbox/view/view-of.ts";
import { SandboxContext } from "../../protocol/sandbox.ts";
import { type Sandbox, SANDBOX_PRESETS, sandboxContext } from "../../protocol/sandbox-options.ts";
import { describeIssue } from "../../rpc/describe-issue.ts";
import { sandboxPolicy } from "../../server/sandbox/sandbox-context.ts";
import { describeFileError, Failure, usageFailure } from "../shared/failure.ts";
import { readSmallFile } from "../shared/read-small-file.ts";
import { print, printJson } from "../shared/standard-streams.ts";
import { readConfiguration } from "./config-file.ts";
import { type Flags, parseFlags } from "./flags.ts";

export const help = `Print what a sandbox allows on this machine

Usage: exec-server sandbox explain [--cwd <DIR>] [OPTIONS]

Patterns are searched and links are followed, as for a process that starts now. What a server hides
in every sandbox, such as its tokens, is not known here.

Options:
      --cwd <DIR>        Working directory of the process [default: the current directory]
      --sandbox <NAME>   A client's sandbox by name: read-only or workspace-write
      --context <FILE>   A client's sandbox as JSON: a context of the protocol, or the library's object
      --config <PATH>    A server's configuration file, whose sandbox the client's narrows
      --json             Print one JSON object: cwd, sandbox, network, everythingElse, paths, patterns
  -h, --help             Print help

Exit status: 0, 1 if the sandbox cannot be had, 2 for an invalid command line.

Examples:
  exec-server sandbox explain --cwd /srv/work --sandbox workspace-write
  exec-server sandbox explain --config server.toml --sandbox read-only --json
`;

const FLAGS = { cwd: "DIR", sandbox: "NAME", context: "FILE", config: "PATH" };

/** `exec-server sandbox explain`: prints what a sandbox allows on this machine. */
export async function run(args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  if (verb !== "explain")
    throw usageFailure(
      verb === undefined ? "a subcommand is required: explain" : `unrecognized subcommand '${verb}'`,
    );
  const flags = parseFlags(rest, { values: FLAGS, switches: ["json"] });
  if (flags.has("sandbox") && flags.has("context"))
    throw usageFailure("the argument '--sandbox <NAME>' cannot be used with '--context <FILE>'");
  if (!["sandbox", "context", "config"].some((name) => flags.has(name)))
    throw usageFailure("one of '--sandbox <NAME>', '--context <FILE>' and '--config <PATH>' is required");
  const cwd = resolve(flags.get("cwd") ?? ".");
  const described = await describe(flags, cwd);
  if (flags.has("json")) await printJson({ cwd, sandbox: described !== undefined, ...described });
  else if (described === undefined)
    await print("The context does not ask for a sandbox: everything is allowed.\n");
  else await print(visibleLines(`A process in ${cwd}:\n\n${policyLines(described).join("\n")}\n`));
}

/** Undefined if nothing is confined. */
async function describe(flags: Flags, cwd: string): Promise<PolicyDescription | undefined> {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new Failure(`${cwd} is not a directory`);
  const config = flags.get("config");
  // A server resolves its own sandbox against its own directory, and a client's against the process's.
  const operator =
    config === undefined ? undefined : policyOf((await readConfiguration(config)).sandbox, process.cwd());
  const client = policyOf(clientSandbox(flags), cwd);
  const policy = operator === undefined ? client : narrow(operator, client);
  // The server's hidden files are unknown here, except for its configuration.
  const files = { hiddenPaths: config === undefined ? [] : [resolve(config)] };
  return policy && describePolicy(policy, viewOf(policy, { files }), { files });
}

function clientSandbox(flags: Flags): Sandbox | undefined {
  const file = flags.get("context");
  return file === undefined ? flags.choice("sandbox", SANDBOX_PRESETS) : readContext(file);
}

/** A context of the wire, or the library's object, as JSON. */
function readContext(path: string): Sandbox {
  let value: unknown;
  try {
    value = JSON.parse(readSmallFile(path).toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Failure(`${path} is not JSON: ${error.message}`);
    throw new Failure(`failed to read ${path}: ${describeFileError(error)}`);
  }
  if (typeof value !== "object" || value === null || !("permissions" in value)) return value as Sandbox;
  const context = SandboxContext().safeParse(value);
  if (context.success) return context.data;
  throw new Failure(`${path} is not a sandbox context: ${describeIssue(context.error, value, "sandbox")}`);
}

function policyOf(wanted: Sandbox | undefined, cwd: string): SandboxPolicy | undefined {
  if (wanted === undefined) return undefined;
  const subject = { kind: "process", cwd: () => cwd, temporaryDirectory: process.env["TMPDIR"] } as const;
  return sandboxPolicy(sandboxContext(wanted, uriFromPath(cwd)), subject);
}
