import type { ProcessEvent } from "../../../client/process/process-events.ts";
import { complain } from "../print/complain.ts";
import { printableJson } from "../print/printable.ts";
import { openOutput, OutputWriter } from "../running/output-stream.ts";
import type { LogPiece } from "./log-selection.ts";

/** Prints a log: output goes where the process wrote it, notices to stderr. */
export interface LogPrinter {
  output(piece: LogPiece): Promise<void>;
  /** Any other event. */
  event(event: Exclude<ProcessEvent, { kind: "output" }>): Promise<void>;
}

/** Output as it is. */
export function plainPrinter(): LogPrinter {
  const [stdout, stderr] = [new OutputWriter(openOutput(1)), new OutputWriter(openOutput(2))];
  return {
    output: ({ stream, bytes }) => (stream === "stderr" ? stderr : stdout).write(bytes),
    event: async (event) => {
      if (event.kind !== "gap") return;
      complain(
        event.fromSeq === 1
          ? `the beginning is no longer retained (events 1 to ${event.toSeq})`
          : `output is missing here: events ${event.fromSeq} to ${event.toSeq} are no longer retained`,
      );
    },
  };
}

/** One line of JSON for each event. Output that is not UTF-8 is base64. */
export function jsonPrinter(): LogPrinter {
  const stdout = new OutputWriter(openOutput(1));
  const line = (value: object): Promise<void> => stdout.write(Buffer.from(`${printableJson(value)}\n`));
  return {
    output: ({ seq, stream, bytes }) => line({ seq, kind: "output", stream, ...content(bytes) }),
    event: ({ kind, ...event }) => line({ ...("seq" in event ? { seq: event.seq } : {}), kind, ...event }),
  };
}

function content(bytes: Uint8Array): { text: string } | { base64: string } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = buffer.toString("utf8");
  return Buffer.from(text).equals(buffer) ? { text } : { base64: buffer.toString("base64") };
}
