import { Fifo } from "../base/fifo.ts";
import type { ManagedProcess } from "../capabilities/process/managed-process.ts";
import type { ProcessEvent } from "../capabilities/process/output-log.ts";
import { HIGH_WATER_BYTES } from "../transport/transport.ts";
import type { Peer } from "./peer.ts";

/** Unsent output from which a process has to wait. Well below what its log keeps, so that nothing unsent is evicted. */
const PAUSE_BYTES = 256 * 1024;

/** What an event costs besides its bytes, so that many small ones count: a log keeps a limited number of them. */
const EVENT_BYTES = 32;

interface Followed {
  readonly processId: string;
  readonly process: ManagedProcess;
  readonly send: (event: ProcessEvent) => void;
  readonly unlisten: () => void;
  nextSeq: number;
  /** Output that waits in the log. */
  unsentBytes: number;
  /** True while events wait in the log. */
  behind: boolean;
  /** True while it is in the queue of those that are sent from as soon as there is room. */
  queued: boolean;
  /** Nothing is sent, because the client asked for that. */
  held: boolean;
  paused: boolean;
}

/**
 * Brings the events of a session's processes to one connection. As long as the connection takes them they are sent as they happen. When it is full, they wait in
 * the process's log; processes that fill theirs are paused, and take turns when there is room again.
 */
export class EventPump {
  readonly #peer: Peer;
  readonly #followed = new Map<string, Followed>();
  readonly #behind = new Fifo<Followed>();

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /** Sends every later event of a process. */
  follow(processId: string, process: ManagedProcess): void {
    const followed: Followed = {
      processId,
      process,
      send: this.#peer.eventSender(processId),
      nextSeq: process.state.nextSeq,
      unsentBytes: 0,
      behind: false,
      queued: false,
      held: false,
      paused: false,
      unlisten: process.listen((event) => this.#happened(followed, event)),
    };
    this.#followed.set(processId, followed);
  }

  /** Sends nothing more of a process until it is released; false when it is not followed. */
  hold(processId: string): boolean {
    const followed = this.#followed.get(processId);
    if (followed !== undefined) followed.held = true;
    return followed !== undefined;
  }

  /** Ends a hold; false when the process is not followed. */
  release(processId: string): boolean {
    const followed = this.#followed.get(processId);
    if (followed === undefined) return false;
    followed.held = false;
    if (followed.behind) this.#enqueue(followed);
    this.drain();
    return true;
  }

  /** The connection takes more again. */
  drain(): void {
    while (this.#behind.size > 0 && this.#hasRoom) {
      const followed = this.#behind.shift()!;
      followed.queued = false;
      if (followed.held) continue;
      const event = followed.process.event(followed.nextSeq);
      if (event === undefined) {
        this.#caughtUp(followed);
      } else {
        followed.unsentBytes -= sizeOf(event);
        this.#send(followed, event);
        this.#enqueue(followed);
      }
    }
  }

  /** The connection is gone: processes run on, and their output is kept as far as the log goes. */
  stop(): void {
    for (const followed of this.#followed.values()) {
      followed.unlisten();
      if (followed.paused) followed.process.resumeOutput();
    }
    this.#followed.clear();
    this.#behind.clear();
  }

  get #hasRoom(): boolean {
    return this.#peer.queuedBytes < HIGH_WATER_BYTES;
  }

  #enqueue(followed: Followed): void {
    if (followed.queued) return;
    followed.queued = true;
    this.#behind.push(followed);
  }

  #happened(followed: Followed, event: ProcessEvent): void {
    // Exits are small and may pass the output of others, but not their own.
    if (!followed.behind && !followed.held && (this.#hasRoom || event.kind !== "output")) {
      this.#send(followed, event);
      return;
    }
    followed.behind = true;
    if (!followed.held) this.#enqueue(followed);
    followed.unsentBytes += sizeOf(event);
    if (followed.unsentBytes < PAUSE_BYTES || followed.paused) return;
    followed.paused = true;
    followed.process.pauseOutput();
  }

  #caughtUp(followed: Followed): void {
    followed.behind = false;
    if (!followed.paused) return;
    followed.paused = false;
    followed.process.resumeOutput();
  }

  #send(followed: Followed, event: ProcessEvent): void {
    followed.nextSeq = event.seq + 1;
    followed.send(event);
    if (event.kind === "closed" && this.#followed.get(followed.processId) === followed)
      this.#followed.delete(followed.processId);
  }
}

function sizeOf(event: ProcessEvent): number {
  return event.kind === "output" ? event.bytes.length + EVENT_BYTES : 0;
}
