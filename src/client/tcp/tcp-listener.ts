import { UsageError } from "../../base/errors.ts";
import { randomId } from "../../base/random-id.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import { uriOf } from "../files/file-path.ts";
import { openStream, type TcpStream } from "./tcp-stream.ts";

const MAX_PORT = 65_535;

/** How to listen on a port. */
export interface ListenOptions {
  /** Name or address to listen on. Default: `127.0.0.1`, where only the server's user and root get through. */
  readonly host?: string;
  /** Stops opening the listener. It has no effect on an open one. */
  readonly signal?: AbortSignal;
}

/**
 * Listens on the host's machine, for as long as the connection to the server lasts. Each connection that arrives is
 * yielded; up to 64 wait until they are asked for. Ending the iteration closes the listener.
 */
export interface TcpListener extends AsyncDisposable, AsyncIterable<TcpStream> {
  /** Address and port that it listens on; for a Unix socket its path, and 0. */
  readonly local: { readonly address: string; readonly port: number };
  /** Stops listening, and cuts off connections that wait. Those that were yielded continue. */
  close(): Promise<void>;
}

/** Listens on a TCP port of the server's machine; 0 picks one. */
export function listenOnPort(
  caller: Caller,
  port: number,
  { host, signal }: ListenOptions,
): Promise<TcpListener> {
  if (!Number.isInteger(port) || port < 0 || port > MAX_PORT)
    throw new UsageError(`invalid port ${port}; expected 0 to ${MAX_PORT}`);
  const params = { port, ...(host === undefined ? {} : { host }) };
  return openListener(
    caller,
    (listenId, options) => caller.request("tcp/listen", { listenId, ...params }, options),
    signal,
  );
}

/** Listens on a new Unix socket of the server's machine. */
export function listenOnPath(
  caller: Caller,
  path: string,
  { signal }: Pick<ListenOptions, "signal">,
): Promise<TcpListener> {
  const uri = uriOf(path);
  const open = async (listenId: string, options: RequestOptions): Promise<TcpListener["local"]> => {
    await caller.request("unix/listen", { listenId, path: uri }, options);
    return { address: path, port: 0 };
  };
  return openListener(caller, open, signal);
}

async function openListener(
  caller: Caller,
  open: (listenId: string, options: RequestOptions) => Promise<TcpListener["local"]>,
  signal: AbortSignal | undefined,
): Promise<TcpListener> {
  const listenId = randomId();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= caller.request("tcp/unlisten", { listenId }).then(
      () => {},
      () => {
        // It ended with the connection to the server.
      },
    );
    return closed;
  };
  async function* connections(): AsyncGenerator<TcpStream, void> {
    try {
      for (;;) yield await openStream(caller, (tcpId) => caller.request("tcp/accept", { listenId, tcpId }));
    } catch (error) {
      if (closed === undefined) throw error;
    } finally {
      await close();
    }
  }
  const local = await open(listenId, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    // The server may still open it.
    if (signal?.aborted) void close();
    throw error;
  });
  return { local, close, [Symbol.asyncIterator]: connections, [Symbol.asyncDispose]: close };
}
