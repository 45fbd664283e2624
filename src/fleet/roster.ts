import { type Beat, isNewer } from "./beat.ts";
import { decodeBeat } from "./beat-message.ts";
import type { Bus } from "./bus.ts";
import type { Mailbox, Mailboxes } from "./mailboxes.ts";
import { beatSubject, BEATS, ROLL_CALL } from "./subjects.ts";

/** An executor that is silent for so long is gone. Beats come every two seconds. */
const SILENCE_MS = 7_000;
const CHECK_MS = 500;
/** A call is over when no answer has arrived for this long: executors answer at once, but may be far away, or busy. */
const QUIET_MS = 250;
/**
 * This many answers show how far apart they arrive. The call is then over after twice the longest pause, but not before
 * this.
 */
const MANY_ANSWERS = 100;
const MIN_QUIET_MS = 20;
const MAX_QUIET_MS = 50;
const CHECK_CALL_MS = 5;
/** A late check does not count: what arrived while this program stood still is read only after it. */
const MAX_CHECK_MS = 2 * CHECK_CALL_MS;
/** The first answer may come from far away. If there are no executors, NATS says so. */
const FIRST_ANSWER_MS = 1_000;
/** An executor that answers all the time must not keep anybody from the list. */
const LONGEST_CALL_MS = 3_000;
/** Both bound what a publisher of beats can make others keep. A beat has about 300 bytes. */
const MAX_EXECUTORS = 20_000;
const MAX_BEATS_BYTES = 64 * 1024 * 1024;

/** A change of the list. */
export interface RosterChange {
  readonly kind: "joined" | "changed" | "left";
  readonly executor: Beat;
}

interface Entry {
  readonly beat: Beat;
  readonly bytes: number;
  heardAt: number;
}

/** The executors that are there, according to their beats. */
export class Roster {
  readonly #bus: Bus;
  readonly #mailboxes: Mailboxes;
  readonly #entries = new Map<string, Entry>();
  /** Total size of their beats. */
  #bytes = 0;
  readonly #watchers = new Set<(change: RosterChange) => void>();
  /** Followers of an executor's beats, by its name. */
  readonly #followers = new Map<string, Set<(run: string) => void>>();
  readonly #stops: readonly (() => void)[];
  readonly #timer: NodeJS.Timeout;
  /** Resolves when the first call has been answered. */
  readonly ready: Promise<void>;

  constructor(bus: Bus, mailboxes: Mailboxes) {
    this.#bus = bus;
    this.#mailboxes = mailboxes;
    this.#stops = [
      bus.subscribe(BEATS, ({ subject, data }) => {
        const beat = decodeBeat(data);
        // An executor cannot speak for another one: NATS can restrict who publishes to a subject.
        if (beat !== undefined && subject === beatSubject(beat.id)) this.#hear(beat, data.length);
      }),
      bus.watch({
        reconnected: () => {
          // This program received nothing in the meantime, so silence proves nothing.
          const now = performance.now();
          for (const entry of this.#entries.values()) entry.heardAt = now;
          void this.call();
        },
        ended: () => {},
      }),
    ];
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
    this.ready = this.call();
  }

  /** The executors, by name. */
  list(): Beat[] {
    return [...this.#entries.values()]
      .map(({ beat }) => beat)
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** Returns what stops it. */
  watch(watcher: (change: RosterChange) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Calls `heard` with the run of each beat of an executor. Returns what stops it. */
  follow(id: string, heard: (run: string) => void): () => void {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers.add(heard));
    return () => {
      followers.delete(heard);
      if (followers.size === 0 && this.#followers.get(id) === followers) this.#followers.delete(id);
    };
  }

  /** Calls the roll. Resolves when no more answers come. */
  call(): Promise<void> {
    return new Promise((resolve) => {
      let answers = 0;
      let longestPauseMs = 0;
      const calledAt = performance.now();
      let answeredAt = calledAt;
      let checkedAt = calledAt;
      let silentMs = 0;
      const end = (): void => {
        box.remove();
        resolve();
      };
      const check = (): void => {
        const many = Math.max(MIN_QUIET_MS, 2 * longestPauseMs);
        const quietMs = answers < MANY_ANSWERS ? QUIET_MS : Math.min(MAX_QUIET_MS, many);
        const now = performance.now();
        silentMs += Math.min(now - Math.max(checkedAt, answeredAt), MAX_CHECK_MS);
        checkedAt = now;
        const leftMs = Math.min(quietMs - silentMs, calledAt + LONGEST_CALL_MS - now);
        // Answers that come meanwhile may make it shorter.
        if (leftMs > 0) timer = setTimeout(check, Math.min(Math.ceil(leftMs), CHECK_CALL_MS));
        else endIfUnanswered();
      };
      // If this program was suspended for a moment, timers run before pending messages have been read.
      const endIfUnanswered = (): void => {
        const before = answers;
        setImmediate(() => {
          if (answers === before || performance.now() >= calledAt + LONGEST_CALL_MS) end();
          else if (before > 0) check();
        });
      };
      let timer = setTimeout(endIfUnanswered, FIRST_ANSWER_MS);
      // An answer follows the beat of its executor.
      const box: Mailbox = this.#mailboxes.add(() => {
        const now = performance.now();
        if (answers > 0) longestPauseMs = Math.max(longestPauseMs, now - answeredAt);
        answeredAt = now;
        silentMs = 0;
        answers += 1;
        if (answers > 1) return;
        clearTimeout(timer);
        // It may report that there are no executors, but the others still have time to answer: an executor could send
        // that, too.
        check();
      });
      this.#bus.publish(ROLL_CALL, Buffer.alloc(0), box.subject);
    });
  }

  close(): void {
    clearInterval(this.#timer);
    for (const stop of this.#stops) stop();
  }

  #hear(beat: Beat, bytes: number): void {
    if (beat.state !== "gone") for (const heard of this.#followers.get(beat.id) ?? []) heard(beat.run);
    const known = this.#entries.get(beat.id);
    // The older one of two with one name is about to leave.
    if (known !== undefined && known.beat.run !== beat.run && isNewer(known.beat, beat)) return;
    if (beat.state === "gone") {
      if (known?.beat.run === beat.run) this.#remove(known);
      return;
    }
    if (known === undefined && this.#entries.size >= MAX_EXECUTORS) return;
    const heardAt = performance.now();
    const bytesThen = this.#bytes - (known?.bytes ?? 0) + bytes;
    if (bytesThen > MAX_BEATS_BYTES) {
      // It is alive, whatever else the beat says.
      if (known !== undefined) known.heardAt = heardAt;
      return;
    }
    this.#bytes = bytesThen;
    this.#entries.set(beat.id, { beat, bytes, heardAt });
    if (known === undefined || !isSame(known.beat, beat))
      this.#notify({ kind: known === undefined ? "joined" : "changed", executor: beat });
  }

  /** Silence proves nothing while this end itself hears nothing. */
  #check(): void {
    if (!this.#bus.isConnected) return;
    const now = performance.now();
    for (const entry of this.#entries.values()) if (now - entry.heardAt > SILENCE_MS) this.#remove(entry);
  }

  #remove({ beat, bytes }: Entry): void {
    this.#entries.delete(beat.id);
    this.#bytes -= bytes;
    this.#notify({ kind: "left", executor: beat });
  }

  #notify(change: RosterChange): void {
    for (const watcher of this.#watchers) watcher(change);
  }
}

function isSame(one: Beat, other: Beat): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
