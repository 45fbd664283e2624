import { RpcError } from "../../base/errors.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import type { Controlled } from "../sessions/session.ts";
import { WriteIds } from "../sessions/write-ids.ts";
import { limitError, type ServerLimits } from "../settings/limits.ts";
import { unknownProcess } from "./known-process.ts";

/** Unread input at which a write is answered only after the process has read some of it. */
const SLOW_INPUT_BYTES = 1024 * 1024;

type WriteResult = Result<"process/write">;

const ACCEPTED: WriteResult = { status: "accepted" };
const ACCEPTED_WITHOUT_ID: WriteResult = { status: "accepted", accepted: true };

export function writeWithId(
  entry: Controlled | undefined,
  { bytes, writeId }: { bytes: Uint8Array; writeId: string },
  limits: ServerLimits,
): WriteResult | DeferredAnswer<WriteResult> {
  if (entry === undefined) return { status: "unknownProcess" };
  if (entry.process.input === undefined) return { status: "stdinClosed" };
  if (entry.writeIds?.has(writeId)) return ACCEPTED;
  if (entry.process.input.ended) return { status: "stdinClosed" };
  const answer = write(entry, bytes, limits, ACCEPTED);
  entry.writeIds ??= new WriteIds();
  entry.writeIds.add(writeId);
  return answer;
}

/** A `process/write` without a `writeId`, as older clients send it: a failed write is an error, not a status. */
export function writeWithoutId(
  entry: Controlled | undefined,
  { processId, bytes }: { processId: string; bytes: Uint8Array },
  limits: ServerLimits,
): WriteResult | DeferredAnswer<WriteResult> {
  if (entry === undefined) throw unknownProcess(processId);
  if (entry.process.input === undefined)
    throw new RpcError(RpcCode.invalidRequest, `stdin is closed for process ${processId}`);
  return write(entry, bytes, limits, ACCEPTED_WITHOUT_ID);
}

function write(
  entry: Controlled,
  bytes: Uint8Array,
  limits: ServerLimits,
  accepted: WriteResult,
): WriteResult | DeferredAnswer<WriteResult> {
  // First, so that the program sees the window size of the client whose input it reads.
  entry.typed?.();
  return answerWrite(entry.process, bytes, limits, accepted);
}

/** Writes to a process, and returns the answer, or one that waits until the process has read enough. */
export function answerWrite<T>(
  process: ManagedProcess,
  bytes: Uint8Array,
  limits: ServerLimits,
  accepted: T,
): T | DeferredAnswer<T> {
  const read = writeInput(process, bytes, limits);
  return read === undefined ? accepted : new DeferredAnswer(read.then(() => accepted));
}

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
