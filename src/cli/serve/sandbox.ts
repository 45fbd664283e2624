import { statSync } from "node:fs";
import { resolve } from "node:path";
import { ExecError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import {
  describePolicy,
  type PolicyDescription,
  policyLines,
} from "../../capabilities/sandbox/describe-policy.ts";
import { narrow, type SandboxPolicy } from "../../capabilities/sandbox/policy/sandbox-policy.ts";
import { viewOf } from "../../capabilities/sandbox/view/view-of.ts";
import { SandboxContext } from "../../protocol/sandbox.ts";
import { type Sandbox, sandboxContext } from "../../protocol/sandbox-options.ts";
import { sandboxPolicy } from "../../server/sandbox/sandbox-context.ts";
import { describeIssue } from "../../rpc/describe-issue.ts";
import { failure, usageError } from "./cli-error.ts";
import { readConfiguration } from "./config-file.ts";
import { describeFileError } from "../shared/describe-file-error.ts";
import { parseFlags } from "./flags.ts";
import { readSmallFile } from "../shared/read-small-file.ts";
import { printResult, printResultAsJson } from "./print-result.ts";
import { sandboxPreset } from "./sandbox-flags.ts";

const FLAGS = { cwd: "DIR", sandbox: "NAME", context: "FILE", config: "PATH" };

/** `exec-server sandbox explain`: prints what a sandbox means on this machine. */
export async function sandbox(args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  if (verb !== "explain")
    throw usageError(
      verb === undefined ? "a subcommand is required: explain" : `unrecognized subcommand '${verb}'`,
    );
  const flags = parseFlags(rest, { values: FLAGS, switches: ["json"] });
  if (flags.has("sandbox") && flags.has("context"))
    throw usageError("the argument '--sandbox <NAME>' cannot be used with '--context <FILE>'");
  if (!["sandbox", "context", "config"].some((name) => flags.has(name)))
    throw usageError("one of '--sandbox <NAME>', '--context <FILE>' and '--config <PATH>' is required");
  const cwd = resolve(flags.get("cwd") ?? ".");
  const described = await describe(flags, cwd);
  if (flags.has("json")) {
    await printResultAsJson({ cwd, sandbox: described !== undefined, ...described });
  } else if (described === undefined)
    await printResult("The context asks for no sandbox: everything is allowed.\n");
  else await printResult(`A process in ${cwd}:\n\n${policyLines(described).join("\n")}\n`);
}

/** Undefined if nothing is confined. */
async function describe(
  flags: ReadonlyMap<string, string>,
  cwd: string,
): Promise<PolicyDescription | undefined> {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw failure(`${cwd} is not a directory`);
  const config = flags.get("config");
  // A server resolves its own sandbox against its own directory, and a client's against that of the process.
  const operator =
    config === undefined ? undefined : policyOf((await readConfiguration(config)).sandbox, process.cwd());
  const client = policyOf(clientSandbox(flags), cwd);
  const policy = operator === undefined ? client : narrow(operator, client);
  // What the server hides is unknown here, except for its configuration.
  const files = { hiddenPaths: config === undefined ? [] : [resolve(config)] };
  return policy && orFailure(() => describePolicy(policy, viewOf(policy, { files }), { files }));
}

function clientSandbox(flags: ReadonlyMap<string, string>): Sandbox | undefined {
  const name = flags.get("sandbox");
  if (name !== undefined) return sandboxPreset(name);
  const file = flags.get("context");
  return file === undefined ? undefined : readContext(file);
}

/** A context of the wire, or the library's object, as JSON. */
function readContext(path: string): Sandbox {
  let value: unknown;
  try {
    value = JSON.parse(readSmallFile(path).toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) throw failure(`${path} is no JSON: ${error.message}`);
    throw failure(`failed to read ${path}: ${describeFileError(error)}`);
  }
  if (typeof value !== "object" || value === null || !("permissions" in value)) return value as Sandbox;
  const context = SandboxContext().safeParse(value);
  if (context.success) return context.data;
  throw failure(`${path} is not a sandbox context: ${describeIssue(context.error, value, "sandbox")}`);
}

function policyOf(wanted: Sandbox | undefined, cwd: string): SandboxPolicy | undefined {
  if (wanted === undefined) return undefined;
  const subject = { kind: "process", cwd: () => cwd, temporaryDirectory: process.env["TMPDIR"] } as const;
  return orFailure(() => sandboxPolicy(sandboxContext(wanted, uriFromPath(cwd)), subject));
}

function orFailure<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExecError) throw failure(error.message);
    throw error;
  }
}
