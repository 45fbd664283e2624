import { WebSocket } from "ws";
import { after, formatDuration } from "../base/duration.ts";
import { ConnectionError, ProtocolError } from "../base/errors.ts";
import { DEFAULT_LIFE, LifeWatch } from "../base/life-watch.ts";
import { isLoopbackUrl } from "../base/loopback-url.ts";
import type { ClientTlsMaterial } from "../transport/websocket/connect-websocket.ts";
import { CLOSING } from "../transport/websocket/websocket.ts";
import { randomBytes } from "node:crypto";

/** The longest message of a relay that either end accepts. */
const MAX_FRAME_BYTES = 256 * 1024;

/** Masks keep what a page says from looking like HTTP to proxies. Nobody chooses what encrypted records look like. */
const NO_MASK = { generateMask: (mask: Buffer): void => void mask.fill(0) };

/** Opens the socket to a relay, paused until somebody listens. The URL is a secret, so errors do not show it. */
export function dialRelay(
  url: string,
  {
    timeoutMs,
    signal,
    tls = {},
  }: { timeoutMs: number; signal: AbortSignal; tls?: ClientTlsMaterial | undefined },
): Promise<WebSocket> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^wss?:$/.test(parsed.protocol))
    throw new ProtocolError("environment registry returned an address that is not a WebSocket's");
  if (parsed.protocol === "ws:" && !isLoopbackUrl(parsed))
    throw new ProtocolError(
      "environment registry returned ws:// for another machine, which anyone could listen to",
    );
  return new Promise((resolve, reject) => {
    const webSocket = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      ...NO_MASK,
      headers: { "x-request-id": `req_${randomBytes(16).toString("hex")}` },
      ...CLOSING,
      ...tls,
    });
    const settle = (): void => {
      cancel();
      signal.removeEventListener("abort", abort);
    };
    const fail = (error: unknown): void => {
      settle();
      reject(error);
      webSocket.terminate();
    };
    const abort = (): void => fail(signal.reason);
    const cancel = after(timeoutMs, () =>
      fail(
        new ConnectionError(`the relay did not answer within ${formatDuration(timeoutMs)}`, {
          code: "TIMED_OUT",
        }),
      ),
    );
    signal.addEventListener("abort", abort, { once: true });
    webSocket.once("open", () => {
      settle();
      webSocket.pause();
      watchLife(webSocket);
      resolve(webSocket);
    });
    webSocket.once("unexpected-response", (_request, { statusCode = 0, statusMessage }) =>
      fail(
        new ConnectionError(`the relay refused: HTTP ${statusCode} ${statusMessage}`, { status: statusCode }),
      ),
    );
    webSocket.on("error", (cause: NodeJS.ErrnoException) =>
      fail(new ConnectionError(`cannot reach the relay: ${cause.message}`, { cause, errno: cause.code })),
    );
    if (signal.aborted) abort();
  });
}

/** Ends a socket whose relay gives no sign of life. */
function watchLife(webSocket: WebSocket): void {
  let received = 0;
  const count = (): void => void (received += 1);
  for (const event of ["message", "pong", "ping"]) webSocket.on(event, count);
  const watch = new LifeWatch(
    {
      signs: () => ({ received, sent: 0, queued: 0 }),
      isReading: () => !webSocket.isPaused,
      ask: () => webSocket.ping(),
      lost: () => webSocket.terminate(),
    },
    DEFAULT_LIFE,
  );
  webSocket.once("close", () => watch.stop());
}
