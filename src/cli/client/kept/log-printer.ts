import type { Host } from "../../../client/host/host.ts";
import type { ProcessEvent } from "../../../client/routes/process-events.ts";
import { complain } from "../print/complain.ts";
import { printableJson } from "../print/printable.ts";
import { openOutput, OutputWriter } from "../running/output-stream.ts";
import type { LogPiece } from "./log-selection.ts";

const NEWLINE = 0x0a;

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

/** Output with the time at the beginning of each line: of the event in which the line begins. */
export function timedPrinter(times: EventTimes): LogPrinter {
  const printer = plainPrinter();
  const inLine = new Set<LogPiece["stream"]>();
  return {
    output: async (piece) => {
      const { seq, stream, bytes } = piece;
      const prefix = Buffer.from(`${(await times.of(seq)) ?? "-"} `);
      const parts: Uint8Array[] = [];
      for (let start = 0; start < bytes.length; ) {
        if (!inLine.has(stream)) parts.push(prefix);
        const newline = bytes.indexOf(NEWLINE, start);
        const end = newline < 0 ? bytes.length : newline + 1;
        parts.push(bytes.subarray(start, end));
        if (newline < 0) inLine.add(stream);
        else inLine.delete(stream);
        start = end;
      }
      await printer.output({ ...piece, bytes: Buffer.concat(parts) });
    },
    event: (event) => printer.event(event),
  };
}

/** One line of JSON for each event. Output that is not UTF-8 is base64. */
export function jsonPrinter(times?: EventTimes): LogPrinter {
  const stdout = new OutputWriter(openOutput(1));
  const line = async (seq: number | undefined, value: object): Promise<void> => {
    const time = seq === undefined ? undefined : await times?.of(seq);
    await stdout.write(Buffer.from(`${printableJson({ seq, time, ...value })}\n`));
  };
  return {
    output: ({ seq, stream, bytes }) => line(seq, { kind: "output", stream, ...content(bytes) }),
    event: (event) => line("seq" in event ? event.seq : undefined, event),
  };
}

function content(bytes: Uint8Array): { text: string } | { base64: string } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = buffer.toString("utf8");
  return Buffer.from(text).equals(buffer) ? { text } : { base64: buffer.toString("base64") };
}

/** Times of a process's events, by the server's clock, requested in batches. */
export class EventTimes {
  readonly #host: Host;
  readonly #processId: string;
  #firstSeq = 0;
  #timesMs: readonly number[] = [];

  constructor(host: Host, processId: string) {
    this.#host = host;
    this.#processId = processId;
  }

  /** The time in ISO 8601; undefined if the server no longer has the event. */
  async of(seq: number): Promise<string | undefined> {
    const known = this.#known(seq);
    if (known !== undefined) return known;
    const answer = await this.#host.request("process/times", { processId: this.#processId, fromSeq: seq });
    this.#firstSeq = answer.firstSeq;
    this.#timesMs = answer.timesMs;
    return this.#known(seq);
  }

  #known(seq: number): string | undefined {
    const time = this.#timesMs[seq - this.#firstSeq];
    return time === undefined ? undefined : new Date(time).toISOString();
  }
}
