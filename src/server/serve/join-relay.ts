import { silentLogger } from "../../base/logger.ts";
import { defined } from "../../base/defined.ts";
import type { KeySecret, PublicKey } from "../../noise/keys.ts";
import { registerExecutor, type RelayExecutor } from "../../relay/executor.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import type { ObservedServer } from "./server.ts";

/** The relay that a server registers with, and as what. */
export interface RelayOptions {
  /** Address of the relay's registry: `https://HOST[:PORT][/PATH]`, or `http://` on this machine. */
  readonly registry: string;
  /** Name under which clients find this server. */
  readonly environmentId: string;
  /** What the relay admits this server by. It is asked for each request, so that it can be renewed. */
  readonly bearer: () => string;
  /** Key that clients know this server by. Default: a new one each time. */
  readonly identity?: KeySecret;
  /**
   * Whether a client with this key may connect, besides what the relay says. Open connections are checked every second,
   * and end when the answer was no twice. Default: every client that the relay admits.
   */
  readonly isAuthorized?: (key: PublicKey) => boolean;
  /** The relay's answers are not part of errors: they may repeat the bearer. Default: false. */
  readonly hidesAnswers?: boolean;
  /**
   * The relay no longer accepts this server, and no client reaches it there again. Not called for a server that listens
   * or is in a fleet as well: it tries again.
   */
  readonly refused?: (reason: string) => void;
}

/**
 * Registers a server with a relay, and serves the clients that come through it. Waits until the relay has accepted it,
 * and rejects if it refuses; a server that clients reach elsewhere, too, does neither.
 */
export function joinRelay(
  server: ObservedServer,
  { registry, ...options }: RelayOptions,
  {
    logger = silentLogger,
    limits,
    keepsTrying,
  }: Pick<ServerOptions, "logger" | "limits"> & { readonly keepsTrying: boolean },
): Promise<RelayExecutor> {
  return registerExecutor({
    ...options,
    ...defined({ maxMessageBytes: limits?.maxMessageBytes }),
    base: registry,
    keepsTrying,
    logger,
    accept: (transport, from) => server.accept(transport, { from }),
  });
}
