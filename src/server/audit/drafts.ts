import { type Facts, type Members, membersOf } from "./members.ts";

interface Draft {
  readonly atMs: number;
  readonly event: string;
  readonly facts: Facts;
  readonly who: Members;
}

/** Lines whose text is not made yet: that takes less time for many at once. */
export class Drafts {
  readonly #drafts: Draft[] = [];
  #second = Number.NaN;
  /** The text of that second, up to its milliseconds. */
  #secondText = "";

  get size(): number {
    return this.#drafts.length;
  }

  add(event: string, facts: Facts, who: Members): void {
    this.#drafts.push({ atMs: Date.now(), event, facts, who });
  }

  /** Hands over the members of each line, and forgets them all. */
  compose(take: (members: string) => void): void {
    for (const { atMs, event, facts, who } of this.#drafts)
      take(`"time":"${this.#time(atMs)}","event":"${event}"${who}${membersOf(facts)}`);
    this.#drafts.length = 0;
  }

  /** As `toISOString` has it, which is called once in a second. */
  #time(atMs: number): string {
    const ms = atMs % 1000;
    if (atMs - ms !== this.#second) {
      this.#second = atMs - ms;
      this.#secondText = new Date(atMs).toISOString().slice(0, -4);
    }
    return `${this.#secondText}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
  }
}
