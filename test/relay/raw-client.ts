import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { WebSocket } from "ws";
import { type Ciphers, Initiator } from "../../src/noise/handshake.ts";
import type { Kem } from "../../src/noise/kem.ts";
import { KeyPair } from "../../src/noise/keys.ts";
import { readFrame, type RelayFrame, writeFrame } from "../../src/relay/frame.ts";
import { readKey, writeKey } from "../../src/relay/wire-key.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";

const DEADLINE_MS = 60_000;

/** What a registry answers to somebody who wants to connect. */
export interface Ticket {
  readonly url: string;
  readonly executor_registration_id: string;
  readonly executor_public_key: object;
  readonly harness_key_authorization: string;
}

/** What a hostile client does differently. */
export interface Forgery {
  readonly environmentId?: string;
  readonly registrationId?: string;
  readonly authorization?: string;
  /** Key of the executor that it believes in. */
  readonly peer?: KeyPair;
}

/** A client that can send what it likes. */
export class RawClient {
  readonly #kem: Kem;
  readonly #base: string;
  readonly #token: string;
  readonly environmentId: string;
  readonly own: KeyPair;

  constructor(
    kem: Kem,
    { base, token, environmentId }: { base: string; token: string; environmentId: string },
  ) {
    this.#kem = kem;
    this.#base = base;
    this.#token = token;
    this.environmentId = environmentId;
    this.own = new KeyPair(kem);
  }

  /** Asks for an address. Undefined if that is refused. */
  async ask(): Promise<Ticket | undefined> {
    const response = await fetch(`${this.#base}/cloud/environment/${this.environmentId}/connect`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#token}` },
      body: JSON.stringify({ harness_public_key: writeKey(this.own.publicKey) }),
    });
    const answer = (await response.json()) as Ticket;
    return response.status === 200 ? answer : undefined;
  }

  /** Asks until there is an address: a token may have to wait. */
  ticket(): Promise<Ticket> {
    return pollUntil(
      async () => (await this.ask()) ?? false,
      DEADLINE_MS,
      () => "an address",
    );
  }

  initiate(ticket: Ticket, streamId: string, forgery: Forgery = {}): Initiator {
    const { environmentId } = this;
    return new Initiator(this.#kem, {
      own: this.own,
      peer: forgery.peer?.publicKey ?? readKey(ticket.executor_public_key)!,
      binding: { environmentId, registrationId: ticket.executor_registration_id, streamId, ...forgery },
      payload: Buffer.from(forgery.authorization ?? ticket.harness_key_authorization),
    });
  }

  /** A stream that is open. */
  async join(): Promise<RawStream> {
    const ticket = await this.ticket();
    const streamId = randomUUID();
    const initiator = this.initiate(ticket, streamId);
    const stream = await RawStream.open(ticket.url, streamId);
    stream.handshake(initiator.request);
    const answer = await stream.next("handshake");
    stream.ciphers = initiator.finish((answer as { payload: Buffer }).payload);
    return stream;
  }
}

/** One socket to a relay, with one stream. */
export class RawStream {
  static async open(url: string, streamId: string): Promise<RawStream> {
    const stream = new RawStream(url, streamId);
    await once(stream.webSocket, "open");
    return stream;
  }

  readonly webSocket: WebSocket;
  readonly streamId: string;
  readonly frames: RelayFrame[] = [];
  ciphers: Ciphers | undefined;
  readonly #closed: Promise<number>;

  private constructor(url: string, streamId: string) {
    this.streamId = streamId;
    this.webSocket = new WebSocket(url);
    this.webSocket.on("message", (data) => this.frames.push(readFrame(data as Buffer)!));
    this.webSocket.on("error", () => {});
    this.#closed = new Promise((resolve) => this.webSocket.once("close", resolve));
  }

  handshake(payload: Uint8Array, streamId = this.streamId): void {
    this.#send({ streamId, kind: "handshake", payload: Buffer.from(payload) });
  }

  data(seq: number, payload: Buffer): void {
    this.#send({ streamId: this.streamId, kind: "data", seq, payload });
  }

  reset(reason: string): void {
    this.#send({ streamId: this.streamId, kind: "reset", reason });
  }

  /** Encrypts and sends a record. */
  record(seq: number, plaintext: Buffer): void {
    this.data(seq, this.ciphers!.sending.encrypt(plaintext));
  }

  next(kind: RelayFrame["kind"]): Promise<RelayFrame> {
    return pollUntil(
      () => this.frames.find((each) => each.kind === kind) ?? false,
      DEADLINE_MS,
      () => `a ${kind}`,
    );
  }

  /** The code with which the relay ends it. */
  ended(): Promise<number> {
    return withDeadline(this.#closed, DEADLINE_MS, () => "the end of the socket");
  }

  #send(frame: RelayFrame): void {
    this.webSocket.send(writeFrame(frame));
  }
}
