import type { Logger } from "../../base/logger.ts";
import { Spool } from "../../capabilities/process/output/spool/spool.ts";
import { startSpoolThread } from "../../capabilities/process/output/spool/spool-thread.ts";
import { resolveLimits, type ServerLimits } from "../settings/limits.ts";
import { requireBundle } from "../wire/own-bundle.ts";

const PROGRAM = "spool-thread.js";

/** The output of a keeper's processes on disk. Throws a CapabilityError if the program of its thread is missing. */
export function openSpool(
  directory: string,
  changed: Partial<ServerLimits> | undefined,
  logger: Logger,
): Spool {
  const { maxSpooledBytesPerProcess, maxSpooledBytesPerOwner, maxSpooledBytes } = resolveLimits(changed);
  const limits = {
    maxBytesPerProcess: maxSpooledBytesPerProcess,
    maxBytesPerOwner: maxSpooledBytesPerOwner,
    maxBytes: maxSpooledBytes,
  };
  const program = requireBundle(PROGRAM, "output cannot be kept on disk");
  return new Spool((events) => startSpoolThread(program, { directory, limits }, events), logger);
}
