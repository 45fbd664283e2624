import type { Caller } from "../session/caller.ts";

/** What a reader can be too slow for. */
export type Source = "process" | "http";

const METHODS = { process: "process/flow", http: "http/flow" } as const;

/** What flow control needs of its session. */
export interface FlowOwner extends Caller {
  supports(extension: string): boolean;
  /** Stops or restarts the reading of all that arrives. */
  pauseLink(paused: boolean): void;
}

/**
 * Makes servers wait for readers that are behind. One that has a method for it is told which process or body has to wait. Any other sends to
 * whoever reads, so nothing is read while a reader of the session is behind, unless an answer is waited for: a reader that asks for something
 * before it reads on must get it.
 */
export class FlowControl {
  readonly #owner: FlowOwner;
  readonly #heldProcesses = new Set<string>();
  /** Sources for which the whole link waits. */
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
      this.#tell(source, id, on);
      return;
    }
    change(this.#behind, `${source} ${id}`, on);
    this.#update();
  }

  /** Nothing more comes from there. */
  forget(source: Source, id: string): void {
    this.#heldProcesses.delete(id);
    if (this.#behind.delete(`${source} ${id}`)) this.#update();
  }

  /** Nobody waits for readers any more: what is still on its way has to come. */
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

  /** A new link knows nothing of what the last one was told. */
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

  #tell(source: Source, id: string, paused: boolean): void {
    const told =
      source === "process"
        ? this.#owner.request("process/flow", { processId: id, paused })
        : this.#owner.request("http/flow", { requestId: id, paused });
    told.catch(() => {
      // It has ended, or the connection has; then it is said again on the next one.
    });
  }
}

function change(set: Set<string>, member: string, present: boolean): void {
  if (present) set.add(member);
  else set.delete(member);
}
