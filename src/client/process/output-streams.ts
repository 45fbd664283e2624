import { UsageError } from "../../base/errors.ts";
import { Interruption } from "../../base/interruption.ts";
import type { OutputChunk } from "../routes/process-events.ts";

/** The part of a Node `Writable` that is needed. */
export interface NodeWritable {
  write(chunk: Uint8Array, written: (error?: Error | null) => void): boolean;
  end(ended: (error?: Error | null) => void): unknown;
  once(event: "drain" | "error" | "close", listener: (error?: Error) => void): unknown;
  removeListener(event: "drain" | "error" | "close", listener: (error?: Error) => void): unknown;
  readonly destroyed?: boolean;
}

/** How to pipe output. */
export interface PipeOptions {
  /** Ends the destination after the output. Default: true, except for this program's stdout and stderr. */
  readonly end?: boolean;
}

/** Output as a web stream. Nothing is taken before it is requested, so a reader that stops makes the process wait. */
export function toReadableStream(output: AsyncIterableIterator<OutputChunk>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await output.next();
        if (done) controller.close();
        else controller.enqueue(value.bytes);
      },
      async cancel() {
        await output.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Writes output to a Node or web stream, as fast as it accepts it. Resolves when all of it is written. */
export async function pipeOutput(
  output: AsyncIterableIterator<OutputChunk>,
  destination: NodeWritable | WritableStream<Uint8Array>,
  { end = !isStandardStream(destination) }: PipeOptions,
): Promise<void> {
  try {
    if (isWebStream(destination)) await toReadableStream(output).pipeTo(destination, { preventClose: !end });
    else if (isNodeStream(destination)) await writeAll(output, destination, end);
    else throw new UsageError("output can be piped to a Node Writable or a web WritableStream");
  } finally {
    await output.return?.();
  }
}

async function writeAll(
  output: AsyncIterableIterator<OutputChunk>,
  destination: NodeWritable,
  end: boolean,
): Promise<void> {
  const failure = new Interruption();
  const broken = (error?: Error): void =>
    failure.interrupt(error ?? new Error("the destination was closed before the output had ended"));
  destination.once("error", broken);
  destination.once("close", broken);
  if (destination.destroyed === true) broken();
  let lastWritten = Promise.resolve();
  for (;;) {
    const { done, value } = await failure.wait(output.next());
    if (done) break;
    let isRoomLeft = true;
    lastWritten = new Promise((resolve) => {
      isRoomLeft = destination.write(value.bytes, (error) => (error ? broken(error) : resolve()));
    });
    if (!isRoomLeft) await failure.wait(drained(destination));
  }
  await failure.wait(lastWritten);
  if (end) await failure.wait(ended(destination, broken));
  // Not earlier: a stream emits its error after it was reported, and an unhandled one would end the program.
  destination.removeListener("error", broken);
  destination.removeListener("close", broken);
}

function ended(destination: NodeWritable, broken: (error?: Error) => void): Promise<void> {
  return new Promise((resolve) =>
    destination.end((error) => {
      if (error) {
        broken(error);
        return;
      }
      // Immediately: it is closed before the promise has settled.
      destination.removeListener("close", broken);
      resolve();
    }),
  );
}

function drained(destination: NodeWritable): Promise<void> {
  return new Promise((resolve) => destination.once("drain", () => resolve()));
}

function isWebStream(destination: unknown): destination is WritableStream<Uint8Array> {
  return typeof (destination as { getWriter?: unknown } | null | undefined)?.getWriter === "function";
}

function isNodeStream(destination: unknown): destination is NodeWritable {
  const { write, once } = (destination ?? {}) as { write?: unknown; once?: unknown };
  return typeof write === "function" && typeof once === "function";
}

/** Node itself never ends them. */
function isStandardStream(destination: object): boolean {
  const { process } = globalThis as { process?: { stdout?: unknown; stderr?: unknown } };
  return destination === process?.stdout || destination === process?.stderr;
}
