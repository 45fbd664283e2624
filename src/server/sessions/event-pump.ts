import { Fifo } from "../../base/fifo.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import { HIGH_WATER_BYTES } from "../../transport/transport.ts";
import type { Peer } from "../wire/peer.ts";

/** Unsent output at which a process is paused. Well below what its log keeps, so that nothing unsent is evicted. */
const PAUSE_BYTES = 256 * 1024;

/** Cost of an event besides its bytes, so that many small ones count: a log keeps a limited number of events. */
const EVENT_BYTES = 32;

interface Followed {
  readonly processId: string;
  readonly process: ManagedProcess;
  readonly send: (event: ProcessEvent) => void;
  readonly unlisten: () => void;
  /** The process never waits for this connection, which misses what the log evicts. */
  readonly loose: boolean;
  nextSeq: number;
  /** Output waiting in the log. */
  unsentBytes: number;
  /** True while events wait in the log. */
  behind: boolean;
  /** True while it is in the queue of processes to be sent from when there is room. */
  queued: boolean;
  /** Whether sending is paused at the client's request. */
  held: boolean;
  paused: boolean;
}

export interface FollowOptions {
  /** First event to send. Default: the next one. */
  readonly fromSeq?: number | undefined;
  readonly loose?: boolean;
  /** Sends one event. Default: as a notification of the process. */
  readonly send?: (event: ProcessEvent) => void;
}

/**
 * Sends the events of a session's processes to one connection. While the connection has room, events are sent as they
 * happen. When it is full, they wait in the process's log; processes that fill their log are paused, and take turns
 * when there is room again.
 */
export class EventPump {
  readonly #peer: Peer;
  readonly #settled: (processId: string) => void;
  readonly #followed = new Map<string, Followed>();
  readonly #behind = new Fifo<Followed>();

  /** `settled` is called when the last event of a process was sent, or is not wanted. */
  constructor(peer: Peer, settled: (processId: string) => void = () => {}) {
    this.#peer = peer;
    this.#settled = settled;
  }

  /** Sends every later event of a process, and those from `fromSeq` on as soon as there is room. */
  follow(processId: string, process: ManagedProcess, options: FollowOptions = {}): void {
    const { fromSeq, loose = false, send = this.#peer.eventSender(processId) } = options;
    const { nextSeq } = process.state;
    const followed: Followed = {
      processId,
      process,
      send,
      loose,
      nextSeq: Math.max(1, Math.min(fromSeq ?? nextSeq, nextSeq)),
      unsentBytes: 0,
      behind: false,
      queued: false,
      held: false,
      paused: false,
      unlisten: process.listen((event) => this.#happened(followed, event)),
    };
    this.#followed.set(processId, followed);
    if (followed.nextSeq < nextSeq) this.#fallBehind(followed);
  }

  isFollowed(processId: string): boolean {
    return this.#followed.has(processId);
  }

  /** Stops sending events of a process. The process does not wait. */
  unfollow(processId: string): void {
    const followed = this.#followed.get(processId);
    if (followed === undefined) return;
    followed.unlisten();
    followed.held = true;
    if (followed.paused) followed.process.resumeOutput();
    this.#followed.delete(processId);
    if (followed.process.state.closed) this.#settled(processId);
  }

  /** Stops or restarts sending events of a process; false if it is not followed. */
  setFlow(processId: string, { paused }: { paused: boolean }): boolean {
    const followed = this.#followed.get(processId);
    if (followed === undefined) return false;
    followed.held = paused;
    if (paused) return true;
    if (followed.behind) this.#enqueue(followed);
    this.drain();
    return true;
  }

  /** The connection has room again. */
  drain(): void {
    while (this.#behind.size > 0 && this.#hasRoom) {
      const followed = this.#behind.shift()!;
      followed.queued = false;
      if (followed.held) continue;
      const event = followed.process.event(followed.nextSeq);
      if (event === undefined) {
        if (followed.nextSeq < followed.process.firstSeq) this.#skip(followed);
        else this.#caughtUp(followed);
      } else {
        followed.unsentBytes -= sizeOf(event);
        this.#send(followed, event);
        this.#enqueue(followed);
      }
    }
  }

  /** The connection is gone: processes continue, and their logs keep their output. */
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
    // Exits are small and may pass the output of other processes, but not their own.
    if (!followed.behind && !followed.held && (this.#hasRoom || event.kind !== "output")) {
      this.#send(followed, event);
      return;
    }
    followed.behind = true;
    if (!followed.held) this.#enqueue(followed);
    this.#addUnsent(followed, event);
  }

  #addUnsent(followed: Followed, event: ProcessEvent): void {
    followed.unsentBytes += sizeOf(event);
    if (followed.loose || followed.unsentBytes < PAUSE_BYTES || followed.paused) return;
    followed.paused = true;
    followed.process.pauseOutput();
  }

  /** Earlier events are sent too, but not before the answer to the request for them. */
  #fallBehind(followed: Followed): void {
    const { process } = followed;
    followed.behind = true;
    for (let seq = Math.max(followed.nextSeq, process.firstSeq); ; seq += 1) {
      const event = process.event(seq);
      if (event === undefined) break;
      this.#addUnsent(followed, event);
    }
    this.#enqueue(followed);
    setImmediate(() => this.drain());
  }

  /** Reports events that were evicted before they were sent. */
  #skip(followed: Followed): void {
    const { processId, process, nextSeq } = followed;
    this.#peer.notify("process/gap", { processId, fromSeq: nextSeq, toSeq: process.firstSeq - 1 });
    followed.nextSeq = process.firstSeq;
    this.#enqueue(followed);
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
    if (event.kind !== "closed" || this.#followed.get(followed.processId) !== followed) return;
    this.#followed.delete(followed.processId);
    this.#settled(followed.processId);
  }
}

function sizeOf(event: ProcessEvent): number {
  return event.kind === "output" ? event.bytes.length + EVENT_BYTES : 0;
}
