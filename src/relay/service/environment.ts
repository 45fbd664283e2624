import { randomUUID, timingSafeEqual } from "node:crypto";
import { fingerprint, type PublicKey } from "../../noise/keys.ts";
import { readFrame, writeFrame } from "../frame.ts";
import { REPLACED } from "../rivalry.ts";
import { type Admission, Admissions, type ClientSecrets, hashOf, newSecret } from "./admissions.ts";
import type { Client, FrameSocket } from "./client.ts";
import { isWithinShare } from "./fair-share.ts";
import { findDisplaced } from "./find-displaced.ts";
import { FrameTurns } from "./frame-turns.ts";
import { FullClients } from "./full-clients.ts";
import { HandshakeDeadlines } from "./handshake-deadlines.ts";
import { Handshakes } from "./handshakes.ts";
import { LIMITS } from "./limits.ts";
import { Refusal } from "./refusal.ts";
import type { RecordEvent, RelayEvent } from "./relay-event.ts";

/** What Codex's executor says about every stream that it resets. */
const RESET_REASON = "noise_relay_protocol_error";
let clients = 0;

export interface EnvironmentOptions {
  readonly id: string;
  /** Name of the token that has registered it. */
  readonly token: string;
  readonly key: PublicKey;
  /** Fingerprints of keys that had the environment before, oldest first. */
  readonly supersededKeys?: readonly string[];
  readonly now: number;
  readonly record: RecordEvent;
}

/** What the executor of an environment asks about a client. */
export interface Validation {
  readonly authorization: string;
  readonly registrationId: string;
  readonly key: PublicKey;
}

/** One environment: its executor, and the clients that are on their way to it or there. */
export class Environment {
  readonly id: string;
  readonly token: string;
  readonly key: PublicKey;
  readonly fingerprint: string;
  readonly supersededKeys: readonly string[];
  readonly registrationId = `reg_${randomUUID()}`;
  /** Part of the executor's address. */
  readonly secret: string = newSecret();
  readonly #secretHash = Buffer.from(hashOf(this.secret));
  readonly #record: RecordEvent;
  readonly #admissions = new Admissions();
  readonly #clients = new Set<Client>();
  readonly #streams = new Map<string, Client>();
  readonly #turns = new FrameTurns();
  readonly #handshakes = new Handshakes();
  readonly #deadlines = new HandshakeDeadlines((client, reason) => this.#expel(client, reason));
  readonly #fullClients: FullClients;
  #executor: FrameSocket | undefined;
  #lastSeenAt: number;

  constructor({ id, token, key, supersededKeys = [], now, record }: EnvironmentOptions) {
    this.id = id;
    this.token = token;
    this.key = key;
    this.fingerprint = fingerprint(key);
    this.supersededKeys = supersededKeys;
    this.#lastSeenAt = now;
    this.#record = record;
    this.#fullClients = new FullClients(this.#clients, (isHeld) =>
      isHeld ? this.#executor?.pause() : this.#executor?.resume(),
    );
  }

  get isOnline(): boolean {
    return this.#executor !== undefined;
  }

  /** Whether keys that it has superseded stay away: its executor is there, or has just been. */
  isHeld(now: number): boolean {
    return this.isOnline || now < this.#lastSeenAt + LIMITS.keyHoldMs;
  }

  isExecutorSecret(secret: string): boolean {
    return timingSafeEqual(Buffer.from(hashOf(secret)), this.#secretHash);
  }

  /** Clients that are connected. */
  get clients(): ReadonlySet<Client> {
    return this.#clients;
  }

  /** Bytes that wait to be sent, to the executor and to its clients. */
  get queuedBytes(): number {
    let bytes = this.#executor?.queuedBytes ?? 0;
    for (const { socket } of this.#clients) bytes += socket.queuedBytes;
    return bytes;
  }

  /** Lets a client of a token come. Throws a Refusal. */
  admit(token: string, key: PublicKey, now: number): ClientSecrets {
    this.#admissions.expire(now);
    if (!this.isOnline) throw offline();
    const waitMs = this.#handshakes.waitOf(token, now);
    if (waitMs > 0)
      throw new Refusal(
        503,
        "handshake_refused",
        `${this.id} refused a handshake of this token; try again in ${Math.ceil(waitMs / 1000)} s`,
      );
    const all = [...this.#admissions.unused, ...this.#clients];
    const own = all.filter((each) => each.token === token).length;
    if (!isWithinShare(own, all.length, LIMITS.maxStreams) || !this.#makeRoom(token))
      throw new Refusal(503, "too_many_streams", `too many clients of ${this.id}; try again later`);
    const admission = { client: ++clients, token, key: fingerprint(key), admittedAt: now };
    this.#event("connect", admission);
    return this.#admissions.add(admission);
  }

  /** Whether an authorization is valid. It is used up, whatever the answer. */
  validate({ authorization, registrationId, key }: Validation, now: number): boolean {
    const admission = this.#admissions.authorize(authorization, now);
    const isValid =
      admission !== undefined && registrationId === this.registrationId && admission.key === fingerprint(key);
    this.#record("validate", { environment: this.id, client: admission?.client, valid: isValid });
    return isValid;
  }

  /** The executor has connected; the newest socket wins. */
  setExecutor(socket: FrameSocket, from: string): void {
    const { id, token } = this;
    this.#record("online", { environment: id, token, from });
    const earlier = this.#executor;
    this.#executor = socket;
    if (earlier === undefined) return;
    earlier.close(1001, REPLACED);
    this.#dropClients("the executor has connected again");
  }

  /** Its socket has closed; another may have replaced it. */
  loseExecutor(socket: FrameSocket, now: number): void {
    if (this.#executor !== socket) return;
    this.#lastSeenAt = now;
    this.#endConnections("the executor is gone");
  }

  /** Uses up an address; undefined if it is not valid. */
  use(secret: string, now: number): Admission | undefined {
    const admission = this.#admissions.use(secret, now);
    return this.isOnline ? admission : undefined;
  }

  connect(admission: Admission, socket: FrameSocket): Client {
    const client: Client = {
      ...admission,
      socket,
      streamId: undefined,
      hasSentHandshake: false,
      isOpen: false,
      tookAt: performance.now(),
    };
    this.#clients.add(client);
    this.#deadlines.set(client, LIMITS.handshakeMs, "the client has not sent its handshake in time");
    this.#fullClients.balance();
    return client;
  }

  /** Passes on what a client sends, in its turn. */
  receiveFromClient(client: Client, bytes: Buffer): void {
    const frame = readFrame(bytes);
    if (frame === undefined || !this.#clients.has(client)) return;
    const isSecondHandshake = frame.kind === "handshake" && client.hasSentHandshake;
    if (isSecondHandshake || !this.#claim(client, frame.streamId)) {
      client.socket.close(1008, "one stream, and one handshake, for each address");
      return;
    }
    if (frame.kind === "handshake") {
      client.hasSentHandshake = true;
      this.#deadlines.set(client, LIMITS.answerMs, "the executor has not answered the handshake in time");
    }
    if (frame.kind !== "handshake" || this.#handshakes.begin(client, bytes)) this.#passOn(client, bytes);
  }

  /** The executor's socket can take more. */
  drained(): void {
    while (this.#hasRoom) {
      const next = this.#turns.take();
      if (next === undefined) return;
      this.#executor?.send(next.frame);
      if (!this.#turns.has(next.client)) next.client.socket.resume();
    }
  }

  /** A client's socket has taken something. */
  clientTook(client: Client): void {
    client.tookAt = performance.now();
    this.#fullClients.took(client);
  }

  /** Passes on what the executor sends to the client whose stream it is. */
  receiveFromExecutor(bytes: Buffer, now: number): void {
    const frame = readFrame(bytes);
    const client = frame && this.#streams.get(frame.streamId);
    if (frame === undefined || client === undefined) return;
    if (frame.kind === "handshake") this.#opened(client);
    if (frame.kind === "reset" && this.#handshakes.isSent(client)) this.#refused(client, now);
    const { socket } = client;
    socket.send(bytes);
    if (frame.kind === "reset") socket.close(1000, "the executor has ended the stream");
    else if (socket.queuedBytes > LIMITS.maxQueuedBytes) socket.close(1008, "the client does not read");
    else if (socket.queuedBytes > LIMITS.fullBytes) this.#fullClients.add(client);
  }

  /** A client's socket has closed. */
  loseClient(client: Client): void {
    if (!this.#forget(client)) return;
    const { streamId } = client;
    if (streamId !== undefined)
      this.#executor?.send(writeFrame({ streamId, kind: "reset", reason: RESET_REASON }));
  }

  /** Ends everything: the executor's key was superseded, for example. */
  end(reason: string): void {
    this.#executor?.close(1008, reason);
    this.#endConnections(reason);
    this.#admissions.remove(() => true);
  }

  /** Ends the clients of a token. */
  revokeClients(token: string): void {
    this.#admissions.remove((admission) => admission.token === token);
    for (const client of this.#clients)
      if (client.token === token) client.socket.close(1008, "the token is no longer valid");
  }

  get #hasRoom(): boolean {
    return (this.#executor?.queuedBytes ?? 0) < LIMITS.maxExecutorQueuedBytes;
  }

  /** Takes the stream for the client; false if it may not have it. */
  #claim(client: Client, streamId: string): boolean {
    if (client.streamId !== undefined) return client.streamId === streamId;
    if (this.#streams.has(streamId)) return false;
    client.streamId = streamId;
    this.#streams.set(streamId, client);
    return true;
  }

  /** Whether one more client of a token may be on its way. Tokens with more of them lose those that have sent nothing. */
  #makeRoom(token: string): boolean {
    for (;;) {
      const pending = [...this.#admissions.unused, ...[...this.#clients].filter(({ isOpen }) => !isOpen)];
      const own = pending.filter((each) => each.token === token).length;
      if (isWithinShare(own, pending.length, LIMITS.maxPending)) return true;
      const displaced = findDisplaced(pending, own);
      if (displaced === undefined) return false;
      if ("socket" in displaced) this.#expel(displaced, "clients of other tokens need its slot");
      else this.#admissions.remove((each) => each === displaced);
    }
  }

  /** Frees its slot at once: a client need not answer the closing of its socket. */
  #expel(client: Client, reason: string): void {
    client.socket.close(1008, reason);
    this.loseClient(client);
  }

  #opened(client: Client): void {
    if (client.isOpen) return;
    client.isOpen = true;
    this.#deadlines.clear(client);
    this.#endHandshake(client);
    this.#event("stream", client);
  }

  /** Other clients of the token that are on their way would be refused, too. */
  #refused(client: Client, now: number): void {
    if (this.#handshakes.refused(client, now)) {
      const { token } = client;
      const connected = new Set([...this.#clients].map((each) => each.client));
      this.#admissions.remove((each) => each.token === token && !connected.has(each.client));
      for (const other of this.#clients)
        if (other.token === token && !other.isOpen && !this.#handshakes.isSent(other))
          other.socket.close(1013, "a handshake of this token was refused; try again later");
    }
    this.#endHandshake(client);
  }

  #endHandshake(client: Client): void {
    const next = this.#handshakes.end(client);
    if (next !== undefined) this.#passOn(next.client, next.frame);
  }

  #passOn(client: Client, frame: Buffer): void {
    if (this.#turns.isEmpty && this.#hasRoom) this.#executor?.send(frame);
    else {
      this.#turns.add(client, frame);
      client.socket.pause();
    }
  }

  #endConnections(reason: string): void {
    const { id, token } = this;
    if (this.isOnline) this.#record("offline", { environment: id, token, reason });
    this.#executor = undefined;
    this.#dropClients(reason);
  }

  #dropClients(reason: string): void {
    this.#handshakes.clear();
    for (const client of this.#clients) {
      this.#forget(client);
      client.socket.close(1001, reason);
    }
  }

  /** False if it has gone before. */
  #forget(client: Client): boolean {
    if (!this.#clients.delete(client)) return false;
    if (client.streamId !== undefined) this.#streams.delete(client.streamId);
    this.#turns.delete(client);
    this.#deadlines.clear(client);
    this.#fullClients.delete(client);
    this.#endHandshake(client);
    this.#admissions.remove((admission) => admission.client === client.client);
    this.#event("disconnect", client);
    return true;
  }

  #event(event: RelayEvent, { client, token, key }: Admission): void {
    this.#record(event, { environment: this.id, client, token, key });
  }
}

export function offline(): Refusal {
  return new Refusal(409, "environment_offline", "the environment is offline");
}
