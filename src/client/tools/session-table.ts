import { ExecError } from "../../base/errors.ts";
import type { ExecSession } from "./exec-session.ts";

/** Number of most recently used sessions that are never evicted. */
const MAX_PROTECTED = 8;
/** Number of evicted sessions whose end reasons are remembered. */
const MAX_EPITAPHS = 256;
const MAX_LISTED = 10;

/** The sessions that a model may still use, by number. Bounded: a new session evicts the least useful one. */
export class SessionTable {
  readonly #maxSessions: number;
  /** From least to most recently used. */
  readonly #sessions = new Map<number, ExecSession>();
  readonly #endReasons = new Map<number, string>();
  #reserved = 0;
  #lastId = 0;

  constructor(maxSessions: number) {
    this.#maxSessions = maxSessions;
  }

  get sessions(): readonly ExecSession[] {
    return [...this.#sessions.values()].sort((a, b) => a.facts.id - b.facts.id);
  }

  /**
   * Reserves a slot for a process that is about to start. Returns the session evicted for it, which is no longer in the
   * table.
   */
  reserve(): ExecSession | undefined {
    let evicted: ExecSession | undefined;
    if (this.#sessions.size + this.#reserved >= this.#maxSessions) {
      evicted = this.#leastMissed();
      if (evicted === undefined)
        throw new ExecError(
          "UNSUPPORTED",
          `the limit of ${this.#maxSessions} concurrent commands is reached; wait for one of them to end`,
        );
      this.remove(evicted.facts.id, "was ended to make room for newer sessions");
    }
    this.#reserved += 1;
    return evicted;
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Fills the reserved slot, or frees it. */
  fill(session: ExecSession | undefined): void {
    this.#reserved -= 1;
    if (session !== undefined) this.#sessions.set(session.facts.id, session);
  }

  /** The session, which counts as used now. */
  use(id: number): ExecSession {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new ExecError("NOT_FOUND", this.#describeMissing(id));
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session;
  }

  /** `endReason` is the answer to later calls to the session. */
  remove(id: number, endReason: string): void {
    if (!this.#sessions.delete(id)) return;
    this.#endReasons.set(id, endReason);
    const [oldest] = this.#endReasons.keys();
    if (this.#endReasons.size > MAX_EPITAPHS && oldest !== undefined) this.#endReasons.delete(oldest);
  }

  #leastMissed(): ExecSession | undefined {
    const finished = this.sessions.find((session) => session.over && session.calls === 0);
    if (finished !== undefined) return finished;
    const isProtected = Math.min(MAX_PROTECTED, this.#maxSessions - 1);
    const candidates = [...this.#sessions.values()].slice(0, Math.max(0, this.#sessions.size - isProtected));
    return candidates.find((session) => session.calls === 0);
  }

  #describeMissing(id: number): string {
    const endReason = this.#endReasons.get(id) ?? (id > 0 && id <= this.#lastId ? "is gone" : undefined);
    const fact = endReason === undefined ? `there is no session ${id}` : `session ${id} ${endReason}`;
    const open = this.sessions.slice(-MAX_LISTED).map(({ facts }) => `${facts.id} (${facts.command})`);
    return `${fact}; ${open.length === 0 ? "no session is open" : `open sessions: ${open.join(", ")}`}`;
  }
}
