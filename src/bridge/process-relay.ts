import { ProtocolError } from "../base/errors.ts";
import { formatNotification } from "../protocol/envelope.ts";
import type { ReadResult } from "../protocol/process.ts";
import { encodedEventsOfRead, type ReadEvent } from "../client/routes/read-events.ts";
import type { RelayedMessage } from "./relayed-message.ts";
import { SeenNumbers } from "./seen-numbers.ts";

/** Events held back while the server is asked for those before them. Beyond it, they are read again. */
const MAX_HELD_EVENTS = 256;
const MAX_HELD_BYTES = 1_048_576;
/** Numbers of lost events that are replaced by empty ones. A client waits for every number. */
const MAX_REPLACED_EVENTS = 65_536;
/** Exit status of a process whose fate is unknown. */
const UNKNOWN_EXIT_CODE = -1;

interface HeldEvent {
  readonly seq: number;
  readonly message: RelayedMessage;
}

/** What a relay needs from the bridge. */
export interface RelayOwner {
  /** Passes an event to the client; its memory is the receiver's. */
  pass(message: RelayedMessage | string): void;
  /** The client has everything, including the end. */
  finished(relay: ProcessRelay): void;
}

/**
 * The events of one process on their way to the client: each number passes once. While a lost connection is being
 * replaced, new events wait until those that were missed have been read.
 */
export class ProcessRelay {
  readonly processId: string;
  /** The server knows the process. */
  started = false;
  /** How often the server was asked whether a repeated start was carried out. */
  confirmations = 0;
  /** Outlives the session. */
  kept = false;
  /** The client has asked the server to pause its events. */
  paused = false;
  /** Parameters with which it is attached again on a new connection; it belongs to another session. */
  attachment: Readonly<Record<string, unknown>> | undefined;
  /** The client no longer wants its events. */
  detached = false;
  readonly #owner: RelayOwner;
  readonly #seen = new SeenNumbers();
  readonly #tty: boolean;
  #held: HeldEvent[] = [];
  #heldBytes = 0;
  #holding = false;
  /** How its start was last reported. */
  #reported: string | undefined;
  /** Events were dropped since the server was last asked. */
  #missed = false;
  #exitPassed = false;
  #closedPassed = false;

  constructor(processId: string, { tty }: { tty: boolean }, owner: RelayOwner) {
    this.processId = processId;
    this.#tty = tty;
    this.#owner = owner;
  }

  /** The client asks for events from this number on, or it will get no earlier ones. */
  startAt(seq: number): void {
    this.#seen.startAt(seq);
  }

  /** Events up to this number will not come. */
  skipTo(seq: number): void {
    if (seq > this.#seen.last) this.#seen.startAt(seq + 1);
  }

  get lastSeq(): number {
    return this.#seen.last;
  }

  /** A notification about this process. */
  receive(method: string, seq: number, message: RelayedMessage): void {
    if (this.detached || this.#seen.has(seq)) {
      message.release();
    } else if (this.#holding) {
      this.#hold({ seq, message });
    } else {
      this.#pass(method, seq, message);
    }
  }

  /** How its start ended. A start that the bridge repeats is reported again, and its client has asked once. */
  receiveReport(method: string, message: RelayedMessage): void {
    if (this.#holding && !this.started && this.#reported === method) {
      message.release();
      return;
    }
    this.#reported = method;
    this.#owner.pass(message);
  }

  /** The connection is lost: what comes next must wait until the missed events were read. */
  hold(): void {
    this.#holding = true;
    this.#dropHeld();
  }

  /**
   * Passes what the server has and the client has not, then what was held. `read` asks the server; it rejects if the
   * connection is lost again, and the relay goes on holding.
   */
  async catchUp(read: (afterSeq: number) => Promise<ReadResult>): Promise<void> {
    this.#holding = true;
    do {
      this.#missed = false;
      const afterSeq = this.#seen.last;
      const events = encodedEventsOfRead(afterSeq, await read(afterSeq), this.#exitPassed);
      for (const event of events) this.#passRead(event);
    } while (this.#missed && !this.#closedPassed);
    this.release();
  }

  /** Passes what was held: nothing was missed. */
  release(): void {
    this.#holding = false;
    const held = this.#held.sort((left, right) => left.seq - right.seq);
    this.#held = [];
    this.#heldBytes = 0;
    for (const { seq, message } of held) {
      const { envelope } = message;
      if (envelope.kind === "notification") this.receive(envelope.method, seq, message);
    }
  }

  /** The server does not know what became of the process: the client gets an end that says why. */
  fail(reason: string): void {
    this.#dropHeld();
    if (!this.#closedPassed) {
      this.#passOutput(this.#seen.last + 1, `\n[exec-server: ${reason}]\n`);
      if (!this.#exitPassed)
        this.#passEvent("process/exited", this.#seen.last + 1, { exitCode: UNKNOWN_EXIT_CODE });
      this.#passEvent("process/closed", this.#seen.last + 1, {});
    }
    this.#owner.finished(this);
  }

  #hold(event: HeldEvent): void {
    if (
      this.#held.length >= MAX_HELD_EVENTS ||
      this.#heldBytes + event.message.size > MAX_HELD_BYTES ||
      this.#missed
    ) {
      event.message.release();
      this.#dropHeld();
      this.#missed = true;
      return;
    }
    this.#held.push(event);
    this.#heldBytes += event.message.size;
  }

  #dropHeld(): void {
    for (const { message } of this.#held) message.release();
    this.#held = [];
    this.#heldBytes = 0;
  }

  #passRead(event: ReadEvent): void {
    if (event.kind === "gap") {
      this.#passGap(event);
    } else if (this.#seen.has(event.seq)) {
      return;
    } else if (event.kind === "output") {
      const { seq, stream, chunk } = event;
      this.#passEvent("process/output", seq, { stream, chunk });
    } else if (event.kind === "closed") {
      this.#passEvent("process/closed", event.seq, {});
    } else {
      const { kind: _kind, seq, exitCode, sandboxDenied, ...exit } = event;
      this.#passEvent("process/exited", seq, {
        exitCode: exitCode ?? UNKNOWN_EXIT_CODE,
        ...(sandboxDenied ? { sandboxDenied } : {}),
        ...(Object.keys(exit).length > 0 ? { exit } : {}),
      });
    }
  }

  /** Output that the server no longer has. The first of its numbers says so, the others are empty. */
  #passGap({ fromSeq, toSeq }: { fromSeq: number; toSeq: number }): void {
    if (toSeq - fromSeq >= MAX_REPLACED_EVENTS)
      throw new ProtocolError(`${toSeq - fromSeq + 1} events of output were lost with the connection`);
    let isReported = false;
    for (let seq = fromSeq; seq <= toSeq; seq += 1) {
      if (this.#seen.has(seq)) continue;
      this.#passOutput(seq, isReported ? "" : "\n[exec-server: output was lost with the connection]\n");
      isReported = true;
    }
  }

  #passOutput(seq: number, text: string): void {
    const stream = this.#tty ? "pty" : "stderr";
    this.#passEvent("process/output", seq, { stream, chunk: btoa(text) });
  }

  #passEvent(method: string, seq: number, params: object): void {
    this.#pass(method, seq, formatNotification(method, { processId: this.processId, seq, ...params }));
  }

  #pass(method: string, seq: number, message: RelayedMessage | string): void {
    this.#seen.add(seq);
    if (method === "process/exited") this.#exitPassed = true;
    if (method === "process/closed") this.#closedPassed = true;
    this.#owner.pass(message);
    if (this.#closedPassed && this.#seen.isContiguous) this.#owner.finished(this);
  }
}
