import { encodeBase64 } from "../../base/base64.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { Chunk } from "../../capabilities/process/output/output-log.ts";
import type { ProcessRead } from "../../protocol/process.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { ConnectionBudget } from "../wire/byte-budget.ts";

/** Output in one answer to a read that may reach back to disk. */
const PAGE_BYTES = 1024 * 1024;

/** True if there is output after `afterSeq`, or an end that the caller has not seen. */
export function hasNews(process: ManagedProcess, { afterSeq }: ProcessRead): boolean {
  const { nextSeq, exitCode, closed } = process.state;
  const after = afterSeq ?? 0;
  return (
    closed || (exitCode !== undefined && after < nextSeq - 1) || process.chunksAfter(after, 0).length > 0
  );
}

/** What memory has. */
export function readResult(process: ManagedProcess, { afterSeq, maxBytes }: ProcessRead): JsonText {
  const limit = maxBytes ?? Number.POSITIVE_INFINITY;
  const chunks = process.chunksAfter(afterSeq ?? 0, limit);
  const { nextSeq, exitCode, report, sandboxDenied, closed } = process.state;
  const last = chunks.at(-1);
  const next = typeof maxBytes === "number" && last !== undefined ? last.seq + 1 : nextSeq;
  return resultText(chunks, { nextSeq: next, exitCode, report, sandboxDenied, closed });
}

/**
 * A page of what the disk has, or memory if it reaches back far enough. Resolves in the step in which the answer must be
 * sent.
 */
export async function readSpooled(
  budget: ConnectionBudget,
  process: ManagedProcess,
  { afterSeq, maxBytes }: ProcessRead,
): Promise<JsonText> {
  const after = afterSeq ?? 0;
  const limit = Math.min(maxBytes ?? PAGE_BYTES, PAGE_BYTES);
  const reservation = budget.open();
  try {
    await reservation.grow(2 * PAGE_BYTES);
    const { chunks, endSeq } =
      process.spool !== undefined && after + 1 < process.firstSeq
        ? await process.spool.read(after, process.firstSeq, limit)
        : fromMemory(process, after, limit);
    const { nextSeq, exitCode, exitSeq, report, sandboxDenied, closed } = process.state;
    const more = endSeq < nextSeq;
    const hasExited = exitSeq !== undefined && exitSeq < endSeq;
    return resultText(
      chunks,
      {
        nextSeq: endSeq,
        exitCode: hasExited ? exitCode : undefined,
        report: hasExited ? report : undefined,
        sandboxDenied: hasExited && sandboxDenied,
        closed: closed && !more,
      },
      `${more ? `,"more":true` : ""}${hasExited ? `,"exitSeq":${exitSeq}` : ""}`,
    );
  } finally {
    reservation.release();
  }
}

/** Whole chunks, and one past the last event among them. */
function fromMemory(
  process: ManagedProcess,
  afterSeq: number,
  maxBytes: number,
): { chunks: readonly Chunk[]; endSeq: number } {
  const chunks = process.chunksAfter(afterSeq, maxBytes);
  const last = chunks.at(-1);
  const isCut = last !== undefined && process.chunksAfter(last.seq, 0).length > 0;
  return { chunks, endSeq: isCut ? last.seq + 1 : process.state.nextSeq };
}

/** Assembles the JSON here: base64 needs no escaping, and stringifying megabytes of it would check every character. */
function resultText(
  chunks: readonly Chunk[],
  state: Omit<ManagedProcess["state"], "exitSeq">,
  more = "",
): JsonText {
  const { nextSeq, exitCode, report, sandboxDenied, closed } = state;
  const items = chunks.map(
    ({ seq, stream, bytes }) => `{"seq":${seq},"stream":"${stream}","chunk":"${encodeBase64(bytes)}"}`,
  );
  return new JsonText(
    `{"chunks":[${items.join(",")}],"nextSeq":${nextSeq},"exited":${exitCode !== undefined},"exitCode":${exitCode ?? null},` +
      `"closed":${closed},"failure":null,"sandboxDenied":${sandboxDenied}${report === undefined ? "" : `,"exit":${JSON.stringify(report)}`}${more}}`,
  );
}
