import { randomId } from "../../base/random-id.ts";
import { encodeBase64 } from "../../base/base64.ts";
import { checkDuration, MAX_TIMER_MS } from "../../base/duration.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import { decodeBytes } from "../calls/wire-bytes.ts";
import { uriOf } from "../files/file-path.ts";

/** Maximum bytes of one write on the wire. */
const MAX_WRITE_BYTES = 256 * 1024;
/** Bytes that may be written ahead of the answers. A server takes four times as many. */
const MAX_UNANSWERED_BYTES = 1024 * 1024;
/** Pieces that are read ahead, of up to 256 KiB each. */
const READ_AHEAD = { highWaterMark: 4 };

/** How to open a TCP connection. */
export interface TcpOptions {
  /** Time for the connection to be made. Default: 30 s, which the server counts. */
  readonly timeoutMs?: number;
  /** Stops connecting. It has no effect on an open connection. */
  readonly signal?: AbortSignal;
}

/** A connection of the host's machine, over TCP or a Unix socket. A slow reader slows down only the sender. */
export interface TcpStream extends AsyncDisposable {
  /** Address and port of the other side; for a Unix socket its path, if it has one, and 0. */
  readonly remote: { readonly address: string; readonly port: number };
  /** Ends when the other side sends nothing more. Cancelling closes the connection. */
  readonly readable: ReadableStream<Uint8Array>;
  /** Closing it ends sending, while reading continues. Aborting closes the connection. */
  readonly writable: WritableStream<Uint8Array>;
  /** Ends the connection at once. */
  close(): Promise<void>;
}

/** Opens a TCP connection through a server. */
export function openTcpStream(
  caller: Caller,
  target: { readonly host: string; readonly port: number },
  { timeoutMs, signal }: TcpOptions,
): Promise<TcpStream> {
  const limit =
    timeoutMs === undefined ? undefined : Math.min(checkDuration("timeoutMs", timeoutMs), MAX_TIMER_MS);
  const params = { ...target, ...(limit === undefined ? {} : { timeoutMs: Math.ceil(limit) }) };
  return openStream(
    caller,
    (tcpId, options) => caller.request("tcp/connect", { tcpId, ...params }, options),
    signal,
  );
}

/** Connects to a Unix socket through a server. */
export function openUnixStream(
  caller: Caller,
  path: string,
  { signal }: Pick<TcpOptions, "signal">,
): Promise<TcpStream> {
  const uri = uriOf(path);
  const open = async (tcpId: string, options: RequestOptions): Promise<TcpStream["remote"]> => {
    await caller.request("unix/connect", { tcpId, path: uri }, options);
    return { address: path, port: 0 };
  };
  return openStream(caller, open, signal);
}

/** Wraps a connection that a request opens. */
export async function openStream(
  caller: Caller,
  open: (tcpId: string, options: RequestOptions) => Promise<TcpStream["remote"]>,
  signal?: AbortSignal,
): Promise<TcpStream> {
  const tcpId = randomId();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= caller.request("tcp/close", { tcpId }).then(
      () => {},
      () => {
        // It ended with the connection to the server.
      },
    );
    return closed;
  };
  const remote = await open(tcpId, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    // The server may still be connecting.
    if (signal?.aborted) void close();
    throw error;
  });
  return {
    remote,
    readable: readableOf(caller, tcpId, close),
    writable: writableOf(caller, tcpId, close),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function readableOf(
  caller: Caller,
  tcpId: string,
  close: () => Promise<void>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull: async (controller) => {
        const { chunk, ended } = await caller.request("tcp/read", { tcpId });
        if (ended) controller.close();
        else controller.enqueue(decodeBytes(chunk, "data of tcp/read") as Uint8Array<ArrayBuffer>);
      },
      cancel: () => close(),
    },
    READ_AHEAD,
  );
}

function writableOf(caller: Caller, tcpId: string, close: () => Promise<void>): WritableStream<Uint8Array> {
  /** Writes without an answer, oldest first. */
  const unanswered: { readonly answer: Promise<unknown>; readonly length: number }[] = [];
  let unansweredBytes = 0;
  const send = (piece: Uint8Array): void => {
    const answer = caller.request("tcp/write", { tcpId, chunk: encodeBase64(piece) });
    // A later write, or the end, reports it.
    answer.catch(() => {});
    unanswered.push({ answer, length: piece.length });
    unansweredBytes += piece.length;
  };
  const answered = async (mostBytes: number): Promise<void> => {
    while (unansweredBytes > mostBytes) {
      const { answer, length } = unanswered.shift()!;
      unansweredBytes -= length;
      await answer;
    }
  };
  return new WritableStream<Uint8Array>({
    write: async (bytes) => {
      for (let start = 0; start < bytes.length; start += MAX_WRITE_BYTES) {
        send(bytes.subarray(start, start + MAX_WRITE_BYTES));
        await answered(MAX_UNANSWERED_BYTES);
      }
    },
    close: async () => {
      await answered(0);
      await caller.request("tcp/write", { tcpId, chunk: "", end: true });
    },
    abort: () => close(),
  });
}
