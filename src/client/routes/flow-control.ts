import type { Caller } from "../calls/caller.ts";

/** Sources that a reader can be too slow for. */
export type Source = "process" | "http";

const METHODS = { process: "process/flow", http: "http/flow" } as const;

/** What flow control needs from its session. */
export interface FlowOwner extends Caller {
  supports(extension: string): boolean;
  /** Stops or restarts reading everything that arrives. */
  pauseLink(paused: boolean): void;
}

/**
 * Applies back-pressure for readers that are behind. A server with a method for it is asked to pause one process or
 * body. With any other server, the whole link is paused while a reader is behind, unless an answer is pending: a
 * reader that sends a request before it continues reading must get its answer.
 */
export class FlowControl {
  readonly #owner: FlowOwner;
  readonly #heldProcesses = new Set<string>();
  /** Sources that pause the whole link. */
  readonly #behind = new Set<string>();
  #unanswered = 0;
  #paused = false;
  #released = false;

  constructor(owner: FlowOwner) {
    this.#owner = owner;
  }

  hold(source: Source, id: string, on: boolean): void {
    if (this.#released) return;
    if (source === "process") change(this.#heldProcesses, id, on);
    if (this.#owner.supports(METHODS[source])) {
      this.#sendFlow(source, id, on);
      return;
    }
    change(this.#behind, `${source} ${id}`, on);
    this.#update();
  }

  /** Forgets a source from which nothing more arrives. */
  forget(source: Source, id: string): void {
    this.#heldProcesses.delete(id);
    if (this.#behind.delete(`${source} ${id}`)) this.#update();
  }

  /** Stops waiting for readers: everything still in transit must arrive. */
  release(): void {
    const held = [...this.#heldProcesses];
    this.#behind.clear();
    this.#update();
    for (const processId of held) this.hold("process", processId, false);
    this.#released = true;
  }

  asked(): void {
    this.#unanswered += 1;
    this.#update();
  }

  answered(): void {
    this.#unanswered -= 1;
    this.#update();
  }

  /** A new link does not know what was sent on the last one. */
  renew(): void {
    this.#paused = false;
    this.#behind.clear();
    for (const processId of this.#heldProcesses) this.hold("process", processId, true);
  }

  #update(): void {
    const paused = this.#behind.size > 0 && this.#unanswered === 0;
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#owner.pauseLink(paused);
  }

  #sendFlow(source: Source, id: string, paused: boolean): void {
    const sent =
      source === "process"
        ? this.#owner.request("process/flow", { processId: id, paused })
        : this.#owner.request("http/flow", { requestId: id, paused });
    sent.catch(() => {
      // The process has ended, or the connection has; the latter is handled on the next connection.
    });
  }
}

function change(set: Set<string>, member: string, present: boolean): void {
  if (present) set.add(member);
  else set.delete(member);
}
