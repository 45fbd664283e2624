// Separate from the transport, so that published types do not need those of `ws`.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type ClientOptions, WebSocket } from "ws";
import { after, formatDuration } from "../../base/duration.ts";
import { ConnectionError, UsageError } from "../../base/errors.ts";
import { DEFAULT_LIFE, type LifeTimes } from "../../base/life-watch.ts";
import { MAX_SOCKET_PATH_BYTES, socketPathOf } from "../../base/socket-url.ts";
import { shownUrl } from "../../base/shown-url.ts";
import { MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import { describeTlsFault, type TlsOptionNames } from "../tls-faults.ts";
import type { Transport } from "../transport.ts";
import { installFastPath } from "./fast-path.ts";
import { SocketReads } from "./socket-reads.ts";
import { CLOSING, WebSocketTransport } from "./websocket.ts";

const TLS_OPTIONS: TlsOptionNames = {
  ca: "`ca`, or --ca FILE",
  certificate: "`cert` and `key`, or --cert FILE --key FILE",
  plainScheme: "ws:// instead of wss://",
};
const MAX_BODY_CHARACTERS = 300;
const BODY_TIMEOUT_MS = 1_000;

/** How to open a WebSocket. */
export interface ConnectOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly life?: LifeTimes;
  readonly tls?: ClientTlsMaterial;
}

/** Authorities that a client trusts, and its own certificate, as PEM. */
export interface ClientTlsMaterial {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * Opens a WebSocket to a server. Rejects with a ConnectionError, whose status is the server's if it refused, or with
 * the signal's reason.
 */
export function connectWebSocket(url: string, options: ConnectOptions = {}): Promise<Transport> {
  const { headers = {}, timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
  return new Promise((resolve, reject) => {
    const reads = new SocketReads();
    const webSocket = createWebSocket(url, headers, reads, options.tls);
    let socket: Socket | undefined;
    const settle = (): void => {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
    };
    const fail = (error: unknown): void => {
      settle();
      reject(error);
      webSocket.terminate();
    };
    const refused = (why: string, details?: ConstructorParameters<typeof ConnectionError>[1]): void =>
      fail(
        new ConnectionError(
          `failed to connect to exec-server websocket \`${shownUrl(url)}\`: ${why}`,
          details,
        ),
      );
    const abort = (): void => fail(signal?.reason);
    const cancelTimer = after(timeoutMs, () => {
      const text = `timed out connecting to exec-server websocket \`${shownUrl(url)}\` after ${formatDuration(timeoutMs)}`;
      fail(new ConnectionError(text, { code: "TIMED_OUT" }));
    });
    signal?.addEventListener("abort", abort, { once: true });
    webSocket.once("upgrade", (response) => {
      socket = response.socket;
    });
    webSocket.once("open", () => {
      settle();
      const transport = new WebSocketTransport(webSocket, socket!, {
        side: "client",
        masks: !staysOnMachine(url),
        describePeer: () => shownUrl(url),
      });
      const take = installFastPath(webSocket, { side: "client", maxMessageBytes: MAX_MESSAGE_BYTES });
      if (take !== undefined) reads.offer(take);
      transport.expectLife(options.life ?? DEFAULT_LIFE);
      resolve(transport);
    });
    webSocket.once("unexpected-response", (_request, response) => {
      const { statusCode = 0, statusMessage } = response;
      void readRefusal(response).then((body) =>
        refused(`HTTP ${statusCode} ${statusMessage}${body}`, { status: statusCode }),
      );
    });
    webSocket.on("error", (cause: NodeJS.ErrnoException) =>
      refused(describeConnectFault(cause, url), { cause, errno: cause.code }),
    );
    if (signal?.aborted) abort();
  });
}

/** Masks protect proxies on the way, and a local connection has none. Zeros spare both sides the work. */
const NO_MASK = { generateMask: (mask: Buffer): void => void mask.fill(0) };
/** Encrypted connections are opened by the library. */
const PLAIN = /^(?:ws|http):/i;
const LOOPBACK = /^wss?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?:[:/]|$)/;

function staysOnMachine(url: string): boolean {
  return url.startsWith("ws+unix:") || LOOPBACK.test(url);
}

function createWebSocket(
  url: string,
  headers: Readonly<Record<string, string>>,
  reads: SocketReads,
  tls: ClientTlsMaterial = {},
): WebSocket {
  const options: ClientOptions = {
    headers,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    ...CLOSING,
    ...tls,
    ...(staysOnMachine(url) ? NO_MASK : {}),
  };
  try {
    if (PLAIN.test(url))
      return new WebSocket(url, {
        ...options,
        createConnection: (options: unknown) => {
          const { host, port } = options as { host: string; port: number };
          return reads.connect({ host, port });
        },
      });
    if (!url.startsWith("ws+unix:")) return new WebSocket(url, options);
    const path = socketPathOf(url, "ws+unix");
    if (path === undefined) throw new Error("expected ws+unix:///PATH");
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
      throw new Error(`the path is longer than ${MAX_SOCKET_PATH_BYTES} bytes`);
    // The library supports such URLs, but misreads escapes and colons in the path.
    return new WebSocket("ws://localhost/", { ...options, createConnection: () => reads.connect({ path }) });
  } catch (error) {
    throw new UsageError(`cannot connect to ${shownUrl(url)}: ${(error as Error).message}`);
  }
}

/** A description of a connection failure, and what to do about it if that is known. */
function describeConnectFault(error: NodeJS.ErrnoException, url: string): string {
  const { code, message } = error;
  if (code === "HPE_INVALID_CONSTANT" && url.startsWith("ws:"))
    return `the server does not answer with HTTP (${message}); if it speaks TLS, connect with wss:// instead of ws://`;
  return describeTlsFault(error, TLS_OPTIONS) ?? message;
}

/** The body of a refusal, as an addition to its status: one short line of text, or nothing. */
async function readRefusal(response: IncomingMessage): Promise<string> {
  if (!/^text\/plain\b/.test(response.headers["content-type"] ?? "")) return "";
  let text = "";
  const timer = setTimeout(() => response.destroy(), BODY_TIMEOUT_MS);
  response.setEncoding("utf8");
  try {
    for await (const piece of response) {
      text += piece as string;
      if (text.length > MAX_BODY_CHARACTERS) return "";
    }
  } catch {
    return "";
  } finally {
    clearTimeout(timer);
  }
  return /^[^\p{Cc}]+$/u.test(text) ? `: ${text}` : "";
}
