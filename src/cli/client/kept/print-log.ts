import { errorOf } from "../../../client/routes/process-events.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import type { LogPrinter } from "./log-printer.ts";
import { FirstLines, LastLines } from "./log-selection.ts";

/** Which part of a log is wanted. */
export interface LogSelection {
  readonly follow: boolean;
  /** Number of lines. */
  readonly head?: number | undefined;
  readonly tail?: number | undefined;
}

/** Prints the output of a process that is retained; with `follow`, also what comes, until the process has closed. */
export async function printLog(
  process: RemoteProcess,
  { follow, head, tail }: LogSelection,
  printer: LogPrinter,
): Promise<void> {
  // Events so far; without `follow` nothing later is printed.
  const last = process.wake;
  if (last === 0 && !follow) return;
  const first = head === undefined ? undefined : new FirstLines(head);
  let held = tail === undefined ? undefined : new LastLines(tail);
  const release = async (): Promise<void> => {
    for (const piece of held?.pieces ?? []) await printer.output(piece);
    held = undefined;
  };
  for await (const event of process.events()) {
    if (event.kind === "failed") throw errorOf(event);
    if (event.kind === "gap" && event.fromSeq === 1 && first !== undefined) {
      await printBeginning(process, first, printer);
      break;
    }
    // Whoever wants the end does not miss the beginning.
    if (event.kind === "gap" && held !== undefined) continue;
    if (event.kind !== "output") await printer.event(event);
    else if (first !== undefined) await printer.output(first.take(event));
    else if (held !== undefined) held.add(event);
    else await printer.output(event);
    if (event.seq >= last) await release();
    if (first?.isDone === true || event.kind === "closed" || (!follow && event.seq >= last)) break;
  }
  await release();
}

/** The server keeps the beginning of each stream when it gives up events. Which came first is not known any more. */
async function printBeginning(process: RemoteProcess, first: FirstLines, printer: LogPrinter): Promise<void> {
  const { streams } = await process.snapshot();
  for (const { stream, head } of streams) await printer.output(first.take({ seq: 1, stream, bytes: head }));
}
