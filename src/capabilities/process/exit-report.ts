import { constants } from "node:os";
import type { ExitStatus } from "../../native/reaper.ts";

/** The originator of a signal. */
export type Killer = "client" | "timeout" | "server";

/** How a process ended, as far as known. */
export interface ExitReport {
  readonly signal?: string;
  readonly killedBy?: Killer;
  readonly timedOut?: true;
  readonly cpuTimeMs: { readonly user: number; readonly system: number };
  readonly peakMemoryBytes?: number;
}

// Some numbers have two names; the first is the usual one. Real-time signals have none.
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** The kernel counts memory in batches, so two readings of the same memory may differ by this much. */
const MEMORY_TOLERANCE_BYTES = 1024 * 1024;

let knownServerPeakBytes = 0;

/** `senders` records the sender of each signal to the process. */
export function describeExit(
  { exitCode, signal, usage }: ExitStatus,
  { senders, timedOut }: { senders: ReadonlyMap<string, Killer> | undefined; timedOut: boolean },
): ExitReport {
  const name = signal === undefined ? sentSignal(exitCode, senders) : SIGNAL_NAMES.get(signal);
  const killedBy = name === undefined ? undefined : senders?.get(name);
  return {
    ...(name === undefined ? {} : { signal: name }),
    ...(killedBy === undefined ? {} : { killedBy }),
    ...(timedOut ? { timedOut } : {}),
    cpuTimeMs: { user: usage.userMs, system: usage.systemMs },
    ...(exceedsServer(usage.peakMemoryBytes) ? { peakMemoryBytes: usage.peakMemoryBytes } : {}),
  };
}

/** A sandbox, like a shell, exits with 128 + n if signal n ended its program. If that was sent, it was the reason. */
function sentSignal(
  exitCode: number,
  senders: ReadonlyMap<string, Killer> | undefined,
): NodeJS.Signals | undefined {
  const name = exitCode > 128 ? SIGNAL_NAMES.get(exitCode - 128) : undefined;
  return name !== undefined && senders?.has(name) === true ? name : undefined;
}

/**
 * A child starts in the server's memory, and the kernel records its size as the child's peak. Only a greater peak is
 * the child's own. The server's peak never falls, so it is read again only when the known one is exceeded.
 */
function exceedsServer(peakBytes: number): boolean {
  if (peakBytes <= knownServerPeakBytes) return false;
  knownServerPeakBytes = process.resourceUsage().maxRSS * 1024 + MEMORY_TOLERANCE_BYTES;
  return peakBytes > knownServerPeakBytes;
}
