import { ProtocolError } from "../../base/errors.ts";
import type { ReadResult } from "../../protocol/process.ts";
import { exitedEvent, type GapEvent, type NumberedEvent, type OutputEvent } from "./process-events.ts";
import { decodeBytes } from "../calls/wire-bytes.ts";

/** Output in the answer to a read, not decoded. */
type ReadOutput = Omit<OutputEvent, "bytes"> & { readonly chunk: string };

/** An event in the answer to a read. */
export type ReadEvent = Exclude<NumberedEvent, OutputEvent> | ReadOutput;

/** Like `encodedEventsOfRead`, with the output decoded. */
export function eventsOfRead(afterSeq: number, read: ReadResult, exitKnown: boolean): NumberedEvent[] {
  return encodedEventsOfRead(afterSeq, read, exitKnown).map((event) => {
    if (event.kind !== "output") return event;
    const { chunk, ...output } = event;
    return { ...output, bytes: decodeBytes(chunk, "output of process/read") };
  });
}

/**
 * Turns the answer to a `process/read` after `afterSeq` into events without holes. The answer contains only output: the
 * number of an exit follows from the numbers left over, and further missing numbers belong to evicted output. Throws a
 * ProtocolError if the numbers are impossible.
 */
export function encodedEventsOfRead(afterSeq: number, read: ReadResult, exitKnown: boolean): ReadEvent[] {
  const outputs = outputsOf(afterSeq, read);
  const target = read.nextSeq - 1;
  const events: ReadEvent[] = [...outputs];
  const lastSeq = read.closed ? target - 1 : target;
  const exitSeq = read.exitSeq ?? lastMissing(outputs, lastSeq);
  if (outputs.some(({ seq }) => seq === read.exitSeq) || exitSeq > lastSeq)
    throw new ProtocolError(`process/read: the exit has the number ${exitSeq}, which cannot be`);
  if (read.exited && !exitKnown && exitSeq > afterSeq) {
    const { exitCode, sandboxDenied, exit } = read;
    events.push(exitedEvent({ seq: exitSeq, exitCode, sandboxDenied, exit }));
  }
  if (read.closed && target > afterSeq) events.push({ kind: "closed", seq: target });
  events.sort((left, right) => left.seq - right.seq);
  return withGaps(afterSeq, events, target);
}

function outputsOf(afterSeq: number, { chunks, nextSeq, closed }: ReadResult): ReadOutput[] {
  const outputs: ReadOutput[] = [];
  const end = closed ? nextSeq - 1 : nextSeq;
  let last = 0;
  for (const { seq, stream, chunk } of chunks) {
    if (seq <= last || seq >= end)
      throw new ProtocolError(`process/read: output ${seq} came after ${last}, and the next event is ${end}`);
    last = seq;
    if (seq > afterSeq) outputs.push({ kind: "output", seq, stream, chunk });
  }
  return outputs;
}

/** Inserts gap events where numbers up to `target` are missing. */
export function withGaps<E extends { readonly seq: number }>(
  afterSeq: number,
  events: readonly E[],
  target: number,
): (E | GapEvent)[] {
  const filled: (E | GapEvent)[] = [];
  let next = afterSeq + 1;
  const skipTo = (seq: number): void => {
    if (next < seq) filled.push({ kind: "gap", seq: seq - 1, fromSeq: next, toSeq: seq - 1 });
  };
  for (const event of events) {
    skipTo(event.seq);
    filled.push(event);
    next = event.seq + 1;
  }
  skipTo(target + 1);
  return filled;
}

/** Output is evicted oldest first, so the last missing number belongs to the exit. */
function lastMissing(outputs: readonly ReadOutput[], lastSeq: number): number {
  let candidate = lastSeq;
  for (let index = outputs.length - 1; outputs[index]?.seq === candidate; index -= 1) candidate -= 1;
  return candidate;
}
