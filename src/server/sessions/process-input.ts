import { RpcError } from "../../base/errors.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { limitError } from "../settings/limit-error.ts";
import type { ServerLimits } from "../settings/limits.ts";

/** Unread input at which a write is answered only after the process has read some of it. */
const SLOW_INPUT_BYTES = 1024 * 1024;

/**
 * Writes all bytes or none to a process with an input. The promise, if any, resolves when the process has read enough
 * for the write to be answered.
 */
export function writeInput(
  process: ManagedProcess,
  bytes: Uint8Array,
  { maxUnreadInputBytes }: Pick<ServerLimits, "maxUnreadInputBytes">,
): Promise<void> | undefined {
  const { input } = process;
  if (process.killed || input === undefined)
    throw new RpcError(RpcCode.internal, "failed to write to process stdin");
  if (input.queuedBytes + bytes.length > maxUnreadInputBytes)
    throw limitError(
      "maxUnreadInputBytes",
      maxUnreadInputBytes,
      `the process has not read ${input.queuedBytes} bytes of input, and these are ${bytes.length} more`,
    );
  const written = new Promise<void>((resolve) => input.write(bytes, resolve));
  return input.queuedBytes < SLOW_INPUT_BYTES ? undefined : written;
}
