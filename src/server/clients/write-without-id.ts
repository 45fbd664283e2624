import { RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import type { Controlled } from "../sessions/controlled.ts";
import { unknownProcess } from "./known-process.ts";
import { writeInput } from "../sessions/process-input.ts";
import type { ServerLimits } from "../settings/limits.ts";

type WriteResult = Result<"process/write">;

const ACCEPTED = { status: "accepted", accepted: true } as const;

/** A `process/write` without a `writeId`, as older clients send it: a failed write is an error, not a status. */
export function writeWithoutId(
  entry: Controlled | undefined,
  { processId, bytes }: { processId: string; bytes: Uint8Array },
  limits: ServerLimits,
): WriteResult | DeferredAnswer<WriteResult> {
  if (entry === undefined) throw unknownProcess(processId);
  if (entry.process.input === undefined)
    throw new RpcError(RpcCode.invalidRequest, `stdin is closed for process ${processId}`);
  entry.typed?.();
  const read = writeInput(entry.process, bytes, limits);
  return read === undefined ? ACCEPTED : new DeferredAnswer(read.then(() => ACCEPTED));
}
