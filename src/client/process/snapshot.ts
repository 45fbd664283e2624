import { ProtocolError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { decodeBytes } from "../calls/wire-bytes.ts";
import type { OutputChunk } from "../routes/process-events.ts";

/** See `RemoteProcess.snapshot`. */
export interface Snapshot {
  readonly running: boolean;
  readonly exitCode: number | null;
  readonly streams: readonly StreamSnapshot[];
  /** Contents of the terminal, if requested and there is one. */
  readonly screen?: ScreenSnapshot | undefined;
}

/** What a terminal shows. */
export interface ScreenSnapshot {
  readonly lines: readonly string[];
  readonly cursor: { readonly row: number; readonly col: number };
  /** False if the beginning of the output was evicted, so that state it set up may be missing. */
  readonly complete: boolean;
  /** First event that it does not show: output from here on continues it. Undefined from an older server. */
  readonly nextSeq?: number | undefined;
  /** Its rows and columns. Undefined from an older server. */
  readonly size?: { readonly rows: number; readonly cols: number } | undefined;
  /** If requested: text and escape sequences that make an empty terminal of the same size show the screen. */
  readonly paint?: Uint8Array | undefined;
}

/** Both ends of one stream. */
export interface StreamSnapshot {
  readonly stream: OutputChunk["stream"];
  /** The whole output if nothing is omitted. */
  readonly head: Uint8Array;
  readonly omittedBytes: number;
  readonly tail: Uint8Array;
  readonly totalBytes: number;
  /** True if bytes were left out between head and tail. */
  readonly truncated: boolean;
}

/** Decodes an answer, and checks that its parts add up. */
export function readSnapshot({ streams, screen, ...rest }: Result<"process/snapshot">): Snapshot {
  return {
    ...rest,
    streams: streams.map(readStream),
    ...(screen === undefined ? {} : { screen: readScreen(screen) }),
  };
}

function readScreen({ paint, ...screen }: NonNullable<Result<"process/snapshot">["screen"]>): ScreenSnapshot {
  if (typeof paint !== "string") return screen;
  return { ...screen, paint: decodeBytes(paint, "the screen of a process/snapshot") };
}

function readStream(wire: Result<"process/snapshot">["streams"][number]): StreamSnapshot {
  const { stream, omittedBytes, totalBytes } = wire;
  const head = decodeBytes(wire.head, "the head of a process/snapshot");
  const tail = decodeBytes(wire.tail, "the tail of a process/snapshot");
  if (head.length + omittedBytes + tail.length !== totalBytes)
    throw new ProtocolError(`process/snapshot: the parts of ${stream} are not its ${totalBytes} bytes`);
  return { stream, head, omittedBytes, tail, totalBytes, truncated: omittedBytes > 0 };
}
