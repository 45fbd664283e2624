import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import { type ConnectionEnds, endsOf } from "../../base/connection-ends.ts";
import { defined } from "../../base/defined.ts";
import type { RefusedConnection } from "../../base/refused-connection.ts";
import { selectSubprotocol, subprotocolAuthorization } from "../../base/subprotocol-token.ts";
import { MAX_FRAME_BYTES, MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import type { Transport } from "../transport.ts";
import { type ClientCertificate, clientCertificateOf } from "./client-certificates.ts";
import { installFastPath } from "./fast-path.ts";
import { formatRefusal, reasonOf, type Refusal, refuseUpgrade } from "./http-refusal.ts";
import type { PendingSockets } from "./pending-sockets.ts";
import { addressOf } from "./socket-address.ts";
import { CLOSING, WebSocketTransport } from "./websocket.ts";

/** Credentials that a peer presents when it connects. */
interface PresentedCredentials {
  /** Its Authorization header, or the one encoded in its subprotocols. */
  readonly authorization: string | undefined;
  /** Its address. */
  readonly from: string;
  /** Its certificate, which has been verified. */
  readonly clientCertificate?: ClientCertificate;
}

/** Admission of peers. */
export interface UpgradeOptions<Credential = unknown> {
  /**
   * Checks the peer's credentials; resolves with the reason of a refusal, which is answered with 401, or with the
   * argument for `accept`. Without it, everyone is admitted.
   */
  authenticate?(
    presented: PresentedCredentials,
  ): Promise<{ readonly refusal: string } | { readonly credential: Credential }>;
  /**
   * The same for a page of the server's own site, which always has to present something; without a credential it counts
   * as a client that was admitted without one. Without this function, the server's own pages are not admitted.
   */
  authenticatePage?(
    presented: PresentedCredentials,
  ): Promise<{ readonly refusal: string } | { readonly credential: Credential | undefined }>;
  /** Why the holder of the other end must not connect, if so; the answer is then 403. Not called for Unix sockets. */
  exclude?(ends: ConnectionEnds): Promise<string | undefined> | undefined;
  /**
   * The same for the peer of a Unix socket, by the descriptor of the accepted end; -1 if there is none. Call it when
   * accepting, because the connecting process's number may be reused later.
   */
  excludeUnix?(descriptor: number): string | undefined;
  /** Why no further connection is accepted, or none with this credential, if so; the answer is then 503. */
  refuse?(credential: Credential | undefined): string | undefined;
  /** Why the user at the other end must not connect. */
  excludeUser?(ends: ConnectionEnds): Promise<string | undefined> | undefined;
  /** Called for each upgrade that is turned away. */
  refused?(connection: RefusedConnection): void;
  /** Maximum message length. Default and maximum: the limit of the wire. */
  readonly maxMessageBytes?: number;
  /** Also gets the result of `authenticate`, if there is one. */
  accept(transport: Transport, credential: Credential | undefined): void;
}

/**
 * Takes upgrade requests for the WebSocket's path, whose host and origin have been checked, and turns them into
 * connections.
 */
export type TakeUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer, from?: "own-page") => void;

export function upgrades<Credential>(
  options: UpgradeOptions<Credential>,
  pending: PendingSockets,
): TakeUpgrade {
  const maxMessageBytes = Math.min(options.maxMessageBytes ?? MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES);
  const webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    ...CLOSING,
    handleProtocols: selectSubprotocol,
  });
  // Refusals by `ws` itself: a malformed key or subprotocol.
  webSockets.on("wsClientError", ({ message }, socket) =>
    turnAwayFrom(socket as Socket, { cause: "request", status: 400, body: message }, options, pending),
  );

  const upgrade = (
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    credential: Credential | undefined,
  ): void => {
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      pending.release(socket);
      const transport = new WebSocketTransport(webSocket, socket, {
        side: "server",
        describePeer: () => `exec-server websocket ${addressOf(socket)}`,
      });
      installFastPath(webSocket, {
        side: "server",
        maxMessageBytes,
        takeSmall: (chunk) => transport.deliverSmall(chunk, maxMessageBytes),
        messageTooLong: () => transport.refuseLongMessage(),
        frameTooLong: () => transport.destroy(`a frame is longer than ${MAX_FRAME_BYTES} bytes`),
      });
      transport.keepAlive();
      options.accept(transport, credential);
    });
  };

  return (request, socket, head, from) => {
    const turnAway = (refusal: Refusal): void => turnAwayFrom(socket, refusal, options, pending);
    const malformed = refuseUpgrade(request);
    if (malformed !== undefined) {
      turnAway(malformed);
      return;
    }
    const decide = ({ refusal, credential }: Examined<Credential>): void => {
      if (socket.destroyed) return;
      // Checked in the same step in which the connection is accepted, so that two cannot take the last slot.
      const full = options.refuse?.(credential);
      if (refusal !== undefined) turnAway(refusal);
      else if (full !== undefined) turnAway({ cause: "limit", status: 503, body: full });
      else upgrade(request, socket, head, credential);
    };
    const examined = examine(socket, request, options, from);
    if (examined === undefined) decide({});
    else
      examined.then(decide, () =>
        turnAway({ cause: "limit", status: 503, body: "authentication is not possible right now" }),
      );
  };
}

interface Examined<Credential> {
  readonly refusal?: Refusal;
  readonly credential?: Credential | undefined;
}

/** Identifies the peer and its rights. Undefined without a check. */
export function examine<Credential>(
  socket: Socket,
  { headers }: IncomingMessage,
  options: UpgradeOptions<Credential>,
  from?: "own-page",
): Promise<Examined<Credential>> | undefined {
  const excluded = refuseHolder(socket, options);
  const ofSubprotocol = subprotocolAuthorization(headers["sec-websocket-protocol"]);
  const presented = {
    // A page cannot set the header: if it is there, it is meant for a proxy.
    authorization: from === "own-page" ? ofSubprotocol : (headers.authorization ?? ofSubprotocol),
    from: addressOf(socket),
    ...defined({ clientCertificate: clientCertificateOf(socket) }),
  };
  const authenticated =
    from === "own-page" ? options.authenticatePage?.(presented) : options.authenticate?.(presented);
  if (excluded === undefined && authenticated === undefined) return undefined;
  return Promise.all([excluded, authenticated]).then(([refusal, answer]) => {
    if (refusal !== undefined) return { refusal };
    if (answer === undefined) return {};
    return "refusal" in answer ? { refusal: { cause: "login", status: 401, body: answer.refusal } } : answer;
  });
}

type HolderRules = Pick<UpgradeOptions, "exclude" | "excludeUser" | "excludeUnix">;

/** Results of `excludeUnix` for accepted sockets. */
const unixAnswers = new WeakMap<Socket, { readonly reason: string | undefined }>();

/** Checks once who has connected to a Unix socket. */
export function askUnixHolder(
  socket: Socket,
  { excludeUnix }: HolderRules,
): { readonly reason: string | undefined } {
  const known = unixAnswers.get(socket);
  if (known !== undefined) return known;
  // Node offers no other access to it.
  const { _handle: handle } = socket as { _handle?: { readonly fd?: number } | null };
  const answer = { reason: excludeUnix?.(handle?.fd ?? -1) };
  unixAnswers.set(socket, answer);
  return answer;
}

/** Why the holder of the other end must not connect, whatever its credentials. Undefined without a check. */
export function refuseHolder(socket: Socket, rules: HolderRules): Promise<Refusal | undefined> | undefined {
  const { exclude, excludeUser } = rules;
  const ends = endsOf(socket);
  if (ends === undefined && socket.localAddress === undefined) {
    const { reason } = askUnixHolder(socket, rules);
    return reason === undefined
      ? undefined
      : Promise.resolve({ cause: "sandbox", status: 403, body: reason });
  }
  // Data that the peer sent before it reset the connection can still be read.
  if (ends === undefined && (exclude ?? excludeUser) !== undefined)
    return Promise.resolve({ cause: "user", status: 403, body: "the connection has no other end" });
  const excluded = ends && exclude?.(ends);
  const foreign = ends && excludeUser?.(ends);
  if (!excluded && !foreign) return undefined;
  return Promise.all([excluded, foreign]).then(([inside, other]) => {
    if (inside) return { cause: "sandbox", status: 403, body: inside };
    return other ? { cause: "user", status: 403, body: other } : undefined;
  });
}

/** Sends a refusal, and reports it. */
export function turnAwayFrom(
  socket: Socket,
  refusal: Refusal,
  options: Pick<UpgradeOptions, "refused">,
  pending: PendingSockets,
): void {
  options.refused?.({ cause: refusal.cause, reason: reasonOf(refusal), from: addressOf(socket) });
  pending.turnAway(socket, formatRefusal(refusal));
}
