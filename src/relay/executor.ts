import { anySignal, pause } from "../base/deadlines.ts";
import { ConnectionError, messageOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { Request } from "../noise/handshake.ts";
import { type Kem, loadKem } from "../noise/kem.ts";
import { KeyPair, type KeySecret, type PublicKey } from "../noise/keys.ts";
import type { WebSocket } from "ws";
import type { Transport } from "../transport/transport.ts";
import { Backoff } from "./backoff.ts";
import { Carrier } from "./carrier.ts";
import { dialRelay } from "./dial.ts";
import { type RelayFrame, writeFrame } from "./frame.ts";
import { type Registration, Registry, RegistryError, type RegistryOptions } from "./registry.ts";
import { RelayStream } from "./relay-stream.ts";
import { REPLACED, Rivalry } from "./rivalry.ts";

const DIAL_TIMEOUT_MS = 10_000;
const VALIDATE_TIMEOUT_MS = 10_000;
/** The longest pause of an executor that the relay refuses, or that another replaces. */
const LONGEST_REFUSED_WAIT_MS = 60_000;
const UNREACHABLE = "the relay cannot be reached; trying again";
/** How often streams are checked against `isAuthorized`. */
const CHECK_MS = 1_000;
/** Streams of one executor, and handshakes that wait for the registry. */
const MAX_STREAMS = 128;
const MAX_PENDING = 32;
const VIOLATION = "noise_relay_protocol_error";

export interface ExecutorOptions extends RegistryOptions {
  readonly kem: Kem;
  readonly own: KeyPair;
  readonly logger: Logger;
  /**
   * Whether a client with this key may connect, besides what the registry says. Asked about open streams every second,
   * too; a stream ends when the answer was no twice.
   */
  readonly isAuthorized?: (key: PublicKey) => boolean;
  readonly accept: (transport: Transport, from: string) => void;
  /** Clients reach this server elsewhere, too: a refusal is not its end. Default: false. */
  readonly keepsTrying?: boolean;
  /** The registry does not accept this executor any more, and it does not try again. */
  readonly refused?: (reason: string) => void;
  readonly maxMessageBytes?: number;
}

/** Starts an executor. Without an identity, it has a new key. */
export async function registerExecutor(
  options: Omit<ExecutorOptions, "kem" | "own"> & { readonly identity?: KeySecret },
): Promise<RelayExecutor> {
  const kem = await loadKem();
  const executor = new RelayExecutor({ ...options, kem, own: new KeyPair(kem, options.identity) });
  await executor.start();
  return executor;
}

/** An executor that clients reach through a relay. */
export class RelayExecutor {
  readonly #options: ExecutorOptions;
  readonly #registry: Registry;
  readonly #over = new AbortController();
  readonly #backoff = new Backoff();
  readonly #rivalry = new Rivalry();
  #carrier: Carrier | undefined;
  /** What was logged last, until the executor is connected: each fault is logged once, not with each attempt. */
  #fault: string | undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#registry = new Registry(options);
  }

  /**
   * Registers, and then stays connected. Waits for a relay that cannot be reached, and rejects if it refuses; with
   * `keepsTrying`, does neither.
   */
  async start(): Promise<void> {
    const registration = this.#options.keepsTrying === true ? undefined : await this.#registerFirst();
    void this.#stayConnected(registration);
  }

  close(): void {
    this.#over.abort();
    this.#carrier?.close();
  }

  async #registerFirst(): Promise<Registration> {
    for (;;) {
      try {
        return await this.#register();
      } catch (error) {
        if (this.#over.signal.aborted || !(error instanceof ConnectionError) || isRefusal(error)) throw error;
        this.#report("warn", UNREACHABLE, error);
        await pause(this.#backoff.next(), this.#over.signal);
      }
    }
  }

  #register(): Promise<Registration> {
    return this.#registry.register(this.#options.own.publicKey, this.#over.signal);
  }

  async #stayConnected(first: Registration | undefined): Promise<void> {
    const { signal } = this.#over;
    let registration = first;
    while (!signal.aborted) {
      let longestMs: number | undefined;
      try {
        registration ??= await this.#register();
        await this.#serve(registration);
        longestMs = this.#rivalry.isOn ? LONGEST_REFUSED_WAIT_MS : undefined;
      } catch (error) {
        if (signal.aborted) return;
        const status = error instanceof ConnectionError ? error.status : undefined;
        if (isRefusal(error)) {
          if (!this.#goesOn(error)) return;
          longestMs = LONGEST_REFUSED_WAIT_MS;
        } else this.#report("warn", UNREACHABLE, error);
        // The relay does not know the address any more.
        if (status !== undefined && status >= 400 && status < 500) registration = undefined;
      }
      await pause(this.#backoff.next(longestMs), signal);
    }
  }

  /** Whether a refusal is not the end, because clients can reach this server elsewhere. */
  #goesOn(refusal: RegistryError): boolean {
    const { keepsTrying, logger, refused } = this.#options;
    if (keepsTrying === true) {
      this.#report("error", "the relay refuses this executor; trying again", refusal);
      return true;
    }
    logger.error("the relay no longer accepts this executor", { reason: messageOf(refusal) });
    refused?.(messageOf(refusal));
    return false;
  }

  #report(level: "warn" | "error", message: string, error: unknown): void {
    if (this.#fault === message) return;
    this.#fault = message;
    this.#options.logger[level](message, { reason: messageOf(error) });
  }

  /** Serves the streams of one socket; resolves when it has ended. */
  async #serve(registration: Registration): Promise<void> {
    const { signal } = this.#over;
    const webSocket = await dialRelay(registration.url, {
      ...this.#options,
      timeoutMs: DIAL_TIMEOUT_MS,
      signal,
    });
    if (!this.#rivalry.isOn) this.#backoff.reset();
    this.#fault = undefined;
    const connectedAt = performance.now();
    const reason = await this.#carry(webSocket, registration);
    const isLasting = this.#rivalry.note(reason === REPLACED, performance.now() - connectedAt);
    if (isLasting)
      this.#options.logger.warn(
        "another connection keeps replacing this executor's: another server probably uses the same identity and environment id",
        { environment: this.#options.environmentId },
      );
  }

  /** Resolves with the reason for which the socket has ended. */
  #carry(webSocket: WebSocket, registration: Registration): Promise<string> {
    return new Promise((resolve) => {
      const streams = new ExecutorStreams(this.#options, this.#registry, registration);
      const carrier = new Carrier(webSocket, {
        frame: (frame) => streams.receive(frame),
        close: (_code, reason) => {
          streams.end("the connection to the relay is lost");
          resolve(reason);
        },
      });
      streams.carrier = carrier;
      this.#carrier = carrier;
    });
  }
}

/** The streams of one socket to a relay. */
class ExecutorStreams {
  readonly #options: ExecutorOptions;
  readonly #registry: Registry;
  readonly #registration: Registration;
  readonly #streams = new Map<string, RelayStream>();
  /** Keys of the clients, by their streams. */
  readonly #peers = new Map<string, PublicKey>();
  /** Streams whose client was not authorized when that was last checked. */
  #suspects: ReadonlySet<string> = new Set();
  readonly #checks: NodeJS.Timeout | undefined;
  readonly #pending = new Map<string, AbortController>();
  readonly #congested = new Set<string>();
  carrier!: Carrier;

  constructor(options: ExecutorOptions, registry: Registry, registration: Registration) {
    this.#options = options;
    this.#registry = registry;
    this.#registration = registration;
    const { isAuthorized } = options;
    if (isAuthorized !== undefined)
      this.#checks = setInterval(() => this.#endUnauthorized(isAuthorized), CHECK_MS).unref();
  }

  receive(frame: RelayFrame): void {
    const { streamId } = frame;
    const stream = this.#streams.get(streamId);
    switch (frame.kind) {
      case "data":
        if (stream === undefined) this.#reset(streamId);
        else stream.receive(frame.seq, frame.payload);
        return;
      case "handshake":
        if (stream !== undefined || this.#pending.has(streamId)) this.#violated(streamId);
        else void this.#open(streamId, frame.payload);
        return;
      case "reset":
        this.#pending.get(streamId)?.abort();
        this.#forget(streamId);
        stream?.end();
        return;
      case "ack":
        stream?.receiveAck(frame.count);
        return;
      case "resume":
      case "heartbeat":
    }
  }

  end(reason: string): void {
    clearInterval(this.#checks);
    for (const controller of this.#pending.values()) controller.abort();
    for (const stream of this.#streams.values()) stream.end(reason);
    this.#streams.clear();
    this.#peers.clear();
  }

  /** A client stays until it was refused twice: the list may be in the middle of being written. */
  #endUnauthorized(isAuthorized: (key: PublicKey) => boolean): void {
    const refused = [...this.#peers].filter(([, key]) => !isAuthorized(key)).map(([streamId]) => streamId);
    for (const streamId of refused)
      if (this.#suspects.has(streamId)) this.#end(streamId, "this client is no longer authorized");
    this.#suspects = new Set(refused);
  }

  async #open(streamId: string, payload: Buffer): Promise<void> {
    const { kem, own, environmentId, accept } = this.#options;
    if (this.#pending.size >= MAX_PENDING || this.#streams.size + this.#pending.size >= MAX_STREAMS) {
      this.#reset(streamId);
      return;
    }
    const aborted = new AbortController();
    this.#pending.set(streamId, aborted);
    try {
      const { registrationId } = this.#registration;
      const binding = { environmentId, registrationId, streamId };
      const request = new Request(kem, { own, binding, request: payload });
      const isValid = await this.#isAdmitted(request, aborted.signal);
      if (aborted.signal.aborted) return;
      if (!isValid) {
        this.#reset(streamId);
        return;
      }
      const { response, ciphers } = request.accept();
      const { maxMessageBytes } = this.#options;
      const stream = new RelayStream({
        streamId,
        carrier: this.carrier,
        ciphers,
        source: "relay JSON-RPC message",
        ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
        congested: (isCongested) => this.#noteCongestion(streamId, isCongested),
        violated: () => this.#violated(streamId),
        closed: () => {
          this.#forget(streamId);
          this.#reset(streamId);
        },
      });
      this.#streams.set(streamId, stream);
      this.#peers.set(streamId, request.peer);
      this.carrier.send(writeFrame({ streamId, kind: "handshake", payload: Buffer.from(response) }));
      accept(stream, `relay:${streamId}`);
    } catch {
      if (!aborted.signal.aborted) this.#reset(streamId);
    } finally {
      this.#pending.delete(streamId);
    }
  }

  async #isAdmitted({ peer, payload }: Request, signal: AbortSignal): Promise<boolean> {
    if (this.#options.isAuthorized?.(peer) === false) return false;
    return this.#registry.validate(
      {
        registrationId: this.#registration.registrationId,
        key: peer,
        authorization: Buffer.from(payload).toString("utf8"),
      },
      anySignal([signal, AbortSignal.timeout(VALIDATE_TIMEOUT_MS)]),
    );
  }

  #violated(streamId: string): void {
    this.#pending.get(streamId)?.abort();
    this.#end(streamId, "the relay stream violates the protocol");
  }

  #end(streamId: string, reason: string): void {
    this.#streams.get(streamId)?.end(reason);
    this.#forget(streamId);
    this.#reset(streamId);
  }

  #forget(streamId: string): void {
    this.#streams.delete(streamId);
    this.#peers.delete(streamId);
    this.#noteCongestion(streamId, false);
  }

  #reset(streamId: string): void {
    this.carrier.send(writeFrame({ streamId, kind: "reset", reason: VIOLATION }));
  }

  #noteCongestion(streamId: string, isCongested: boolean): void {
    const wasCongested = this.#congested.size > 0;
    if (isCongested) this.#congested.add(streamId);
    else this.#congested.delete(streamId);
    if (this.#congested.size > 0 === wasCongested) return;
    if (wasCongested) this.carrier.resume();
    else this.carrier.pause();
  }
}

/** Whether the registry has answered, and would answer the same again. */
function isRefusal(error: unknown): error is RegistryError {
  if (!(error instanceof RegistryError)) return false;
  const { status = 0 } = error;
  return status !== 429 && status < 500;
}
