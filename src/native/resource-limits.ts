import { CapabilityError } from "../base/errors.ts";
import { libc } from "./libc.ts";
import { osError } from "./os-error.ts";

/** Resource limits of a process; children inherit them. */
export interface ResourceLimits {
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  /** Counts all processes of the user. */
  readonly processes?: number;
}

// Linux numbers, the same on every processor that Node supports.
const RESOURCES = { cpuSeconds: 0, processes: 6, openFiles: 7, memoryBytes: 9 } as const;
type Resource = keyof typeof RESOURCES;

/** Default of most systems. */
const DEFAULT_OPEN_FILES = 1024;

/** SIGXCPU is sent this much before SIGKILL. */
const CPU_GRACE_SECONDS = 1;

/** Throws a CapabilityError for limits that cannot be set. */
export function checkLimits(limits: ResourceLimits): void {
  if (limits.processes !== undefined && process.geteuid?.() === 0)
    throw new CapabilityError("UNSUPPORTED", "the number of processes cannot be limited for root");
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
  const { code, errno, message } = error;
  throw new CapabilityError(code, `cannot limit ${resource} to ${limit}: ${message}`, {
    cause: error,
    errno,
  });
}

/** Maximum number of open files of this program. */
export function maxOpenFiles(): number {
  const limits = new BigUint64Array(2);
  return libc().prlimit(0, RESOURCES.openFiles, null, limits) === 0 ? Number(limits[0]) : DEFAULT_OPEN_FILES;
}
