import { Interruption } from "../../base/interruption.ts";
import type { OutputChunk } from "./process-events.ts";

/** The part of a Node `Writable` that is needed. */
export interface NodeWritable {
  write(chunk: Uint8Array): boolean;
  end(): unknown;
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

/** Writes output to a Node or web stream, as fast as it accepts it. Resolves when all of it was accepted. */
export async function pipeOutput(
  output: AsyncIterableIterator<OutputChunk>,
  destination: NodeWritable | WritableStream<Uint8Array>,
  { end = !isStandardStream(destination) }: PipeOptions,
): Promise<void> {
  if ("getWriter" in destination) await toReadableStream(output).pipeTo(destination, { preventClose: !end });
  else await writeAll(output, destination, end);
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
  try {
    for (;;) {
      const { done, value } = await failure.wait(output.next());
      if (done) break;
      if (!destination.write(value.bytes)) await failure.wait(drained(destination));
    }
    if (end) destination.end();
  } finally {
    destination.removeListener("error", broken);
    destination.removeListener("close", broken);
    await output.return?.();
  }
}

function drained(destination: NodeWritable): Promise<void> {
  return new Promise((resolve) => destination.once("drain", () => resolve()));
}

/** Node itself never ends them. */
function isStandardStream(destination: object): boolean {
  const { process } = globalThis as { process?: { stdout?: unknown; stderr?: unknown } };
  return destination === process?.stdout || destination === process?.stderr;
}
