import { createDeferred } from "../../base/deferred.ts";
import type { Server } from "./server.ts";

/** A listening server. */
export interface ListeningServer extends Server, AsyncDisposable {
  /**
   * The URL for clients: `ws://127.0.0.1:38977`, `wss://…` with TLS, or `ws+unix:///run/exec.sock`. For a server that
   * listens nowhere it is `fleet:ID`, with its name in the fleet, and `stdio` on stdin and stdout.
   */
  readonly url: string;
  /** Resolves when the server has closed: by `close`, or on stdio also because its client has left. */
  readonly closed: Promise<void>;
  /**
   * A link to the web console for a browser of the user who runs this program. It works once, within the hour. With
   * authentication it is only the address, and the page asks for a token. Undefined if the console is not served.
   */
  consoleLink(): string | undefined;
  /** Stops listening, kills all processes and closes every connection. */
  close(): Promise<void>;
}

/** The properties in which listening servers differ. */
interface Listening {
  readonly url: string;
  readonly consoleLink?: () => string | undefined;
  /** Those who have connected are to be admitted first. */
  readonly leave?: () => Promise<void>;
  /** The server admits no further connections. */
  readonly draining?: () => void;
  readonly stop: () => Promise<void>;
}

/** A server as its program sees it. */
export function listeningServer(
  server: Server,
  { url, consoleLink = () => undefined, leave, draining, stop }: Listening,
): ListeningServer {
  const closed = createDeferred<void>();
  // Programs need not wait for it; `close` rejects, too.
  closed.promise.catch(() => {});
  const close = (): Promise<void> => {
    const stopping = stop();
    stopping.then(
      () => closed.resolve(),
      (error: unknown) => closed.reject(error),
    );
    return stopping;
  };
  return {
    url,
    closed: closed.promise,
    consoleLink,
    refusal: (credential) => server.refusal(credential),
    exclude: (ends) => server.exclude(ends),
    accept: (transport, accepted) => server.accept(transport, accepted),
    state: () => server.state(),
    drain: async () => {
      await leave?.();
      const drained = server.drain();
      draining?.();
      await drained;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
