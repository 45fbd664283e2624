import { CapabilityError } from "../../base/errors.ts";
import { libc } from "../libc.ts";
import { osError } from "../os-error.ts";
import type { Program } from "./spawn.ts";

/** What a process may use at most; children inherit it. */
export interface ResourceLimits {
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  /** Counts all processes of the user. */
  readonly processes?: number;
}

// Numbers of Linux, which are the same on every processor Node runs on.
const RESOURCES = { cpuSeconds: 0, processes: 6, openFiles: 7, memoryBytes: 9 } as const;
type Resource = keyof typeof RESOURCES;

/** The limit after which SIGXCPU is sent comes this much before that of SIGKILL. */
const CPU_GRACE_SECONDS = 1;

/** Variables that shells set on their own. */
const SHELL_VARIABLES = ["PWD", "OLDPWD", "SHLVL"];

/** Throws a CapabilityError for what cannot be had. */
export function checkLimits({ arg0 }: { readonly arg0?: string }, limits: ResourceLimits): void {
  if (arg0 !== undefined)
    throw new CapabilityError(
      "INVALID_INPUT",
      "limits cannot be set for a program that is given another name",
    );
  if (limits.processes !== undefined && process.geteuid?.() === 0)
    throw new CapabilityError("UNSUPPORTED", "the number of processes cannot be limited for root");
}

/**
 * posix_spawn cannot set limits, and setting them on a program that runs already comes too late. So a shell is started that waits for a line at
 * the gate; when its limits are set it gets the line, and becomes the program. If the line never comes, it ends.
 */
export function gated(program: Program, env: ReadonlyMap<string, string>, gate: number): Program {
  const own = SHELL_VARIABLES.filter((name) => !env.has(name));
  const script = `read -r go <&3 || exit 126; exec 3<&-; unset ${own.join(" ")}; exec "$@"`;
  return {
    ...program,
    path: "/bin/sh",
    argv: ["sh", "-c", script, "sh", program.path, ...program.argv.slice(1)],
    extra: gate,
  };
}

export function applyLimits(pid: number, limits: ResourceLimits): void {
  for (const resource of Object.keys(RESOURCES) as Resource[]) {
    const limit = limits[resource];
    if (limit !== undefined) applyLimit(pid, resource, limit);
  }
}

function applyLimit(pid: number, resource: Resource, limit: number): void {
  const hard = resource === "cpuSeconds" ? limit + CPU_GRACE_SECONDS : limit;
  const pair = new BigUint64Array([BigInt(limit), BigInt(hard)]);
  if (libc().prlimit(pid, RESOURCES[resource], pair, null) === 0) return;
  const error = osError(libc().errno());
  throw new CapabilityError(error.code, `cannot limit ${resource} to ${limit}: ${error.message}`, {
    cause: error,
    ...(error.errno === undefined ? {} : { errno: error.errno }),
  });
}
