import { settledWithin } from "../../base/deadlines.ts";
import { Fifo } from "../../base/fifo.ts";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { AuditFile, type Continuation } from "./audit-file.ts";
import { type AuditHead, formatHead, NO_LINES } from "./chain.ts";
import { type Facts, type Members, membersOf } from "./members.ts";
import { SealedLines } from "./sealed-lines.ts";

/** How long a line may wait for others, to be written together. */
const FLUSH_DELAY_MS = 20;
/** How much a power failure can lose. */
const SYNC_INTERVAL_MS = 1_000;
const RETRY_DELAY_MS = 1_000;
const MAX_BATCH_CHARACTERS = 256 * 1024;
/** Lines that wait for a slow or full disk. */
const MAX_QUEUED_CHARACTERS = 16 * 1024 * 1024;
const MAX_QUEUED_LINES = 65_536;
/** Lines of unknown length: few compared with the limits above. */
const MAX_DRAFTS = 64;
/**
 * Share of the queue at which requests are refused, so that events that cannot be refused, such as an end, still have
 * room.
 */
const FULL_SHARE = 0.75;
const HEAD_LINES = 10_000;
const HEAD_INTERVAL_MS = 5 * 60_000;
const CLOSE_DEADLINE_MS = 5_000;

/** What other programs can do to the file. */
const DONE = { gone: "moved away or deleted", changed: "truncated or written to" };

export interface AuditLogOptions {
  readonly file: string;
  readonly maxBytes: number;
  readonly logger: Logger;
  /** Version of the server, for the first line of each file. */
  readonly version: string | undefined;
}

/** Why lines cannot be written now. */
export interface AuditTrouble {
  readonly since: number;
  readonly message: string;
}

interface Batch {
  readonly bytes: Buffer;
  readonly head: AuditHead;
}

/** Numbers, chains and writes lines, in batches. A line that cannot be written waits, within a bound. */
export class AuditLog {
  readonly #file: AuditFile;
  readonly #options: AuditLogOptions;
  /** Lines without text yet; it is made when lines are written, or when there are many. */
  readonly #drafts = new Drafts();
  /** Texts of lines. */
  readonly #queue = new Fifo<string>();
  #queuedCharacters = 0;
  /** Number of lines that had no room. */
  #lost = 0;
  #lostInAll = 0;
  /** Number of lines that were added so far, and of those taken from the queue. */
  #added = 0;
  #taken = 0;
  #written: ((added: number) => void) | undefined;
  #head: AuditHead;
  readonly #sealed: SealedLines;
  /** Undefined until the first line of this server is in the file. */
  #printed: AuditHead | undefined;
  /** Sealed, but not written yet. */
  #batch: Batch | undefined;
  #trouble: AuditTrouble | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  /** Whether lines have waited long enough while others were being written. */
  #isDue = false;
  #syncTimer: NodeJS.Timeout | undefined;
  readonly #headTimer: NodeJS.Timeout;
  #closed = false;

  /** Throws a CapabilityError if the file cannot be used. */
  constructor(options: AuditLogOptions) {
    const { file, end } = AuditFile.open(options.file);
    this.#options = options;
    this.#file = file;
    this.#head = end.head;
    this.#sealed = new SealedLines(end.head);
    this.#open("started", end);
    this.#headTimer = setInterval(() => this.#printHead(), HEAD_INTERVAL_MS).unref();
  }

  get file(): string | undefined {
    return this.#file.path;
  }

  /** Head of the lines in the file. */
  get head(): AuditHead {
    return this.#head;
  }

  /** The last one that is in the server's log. */
  get printedHead(): AuditHead | undefined {
    return this.#printed;
  }

  /** Number of lines that are lost for good. */
  get lost(): number {
    return this.#lostInAll;
  }

  get trouble(): AuditTrouble | undefined {
    return this.#trouble;
  }

  /** True if refusable requests have no more room. */
  get isFull(): boolean {
    return (
      this.#queuedCharacters > MAX_QUEUED_CHARACTERS * FULL_SHARE ||
      this.#queue.size > MAX_QUEUED_LINES * FULL_SHARE
    );
  }

  /** Calls back with the number of the last line that is in the file, each time lines have been written. */
  onWritten(written: (added: number) => void): void {
    this.#written = written;
  }

  /**
   * Adds a line with these facts, after `who`. Returns its number among those that were added; that of the next one for a
   * line that is lost, because it says so.
   */
  add(event: string, facts: Facts, who: Members = ""): number {
    if (this.#closed) return Number.POSITIVE_INFINITY;
    if (this.#queuedCharacters > MAX_QUEUED_CHARACTERS || this.#queue.size >= MAX_QUEUED_LINES) {
      this.#lost += 1;
      this.#lostInAll += 1;
      return this.#added + 1;
    }
    if (this.#lost > 0) {
      const lost = this.#lost;
      this.#lost = 0;
      this.#push("gap", { lost });
    }
    this.#push(event, facts, who);
    return this.#added;
  }

  /** Writes what waits, and ends. */
  async close(): Promise<void> {
    if (this.#closed) return;
    if (this.#lost > 0) this.#push("gap", { lost: this.#lost });
    this.#push("stopped", {});
    this.#closed = true;
    clearInterval(this.#headTimer);
    clearTimeout(this.#timer);
    // A disk that does not answer must not keep the server from ending.
    await settledWithin(this.#finish(), CLOSE_DEADLINE_MS);
    clearTimeout(this.#syncTimer);
    this.#printHead();
    if (this.#hasWork)
      this.#options.logger.error("the end of the audit log could not be written", {
        lines: this.#queue.size + this.#drafts.size,
      });
    this.#file.close();
  }

  async #finish(): Promise<void> {
    await this.#writing;
    await this.#flush();
    await this.#file.sync().catch(() => {});
  }

  get #hasWork(): boolean {
    return this.#batch !== undefined || this.#queue.size + this.#drafts.size > 0;
  }

  #push(event: string, facts: Facts, who: Members = ""): void {
    this.#added += 1;
    this.#drafts.add(event, facts, who);
    if (this.#drafts.size === MAX_DRAFTS || this.#trouble !== undefined) this.#compose();
    if (this.#trouble === undefined) this.#timer ??= setTimeout(this.#start, FLUSH_DELAY_MS).unref();
  }

  #compose(): void {
    this.#drafts.compose((text) => {
      this.#queue.push(text);
      this.#queuedCharacters += text.length;
    });
  }

  readonly #start = (): void => {
    this.#timer = undefined;
    if (this.#writing !== undefined) {
      this.#isDue = true;
      return;
    }
    this.#isDue = false;
    this.#writing = this.#flush().finally(() => {
      this.#writing = undefined;
      if (this.#closed) return;
      if (this.#trouble !== undefined) this.#timer ??= setTimeout(this.#start, RETRY_DELAY_MS).unref();
      else if (this.#isDue) this.#start();
    });
  };

  /**
   * Writes the lines that are waiting. Lines that arrive meanwhile wait for the next write, which costs as much as many
   * lines.
   */
  async #flush(): Promise<void> {
    try {
      this.#compose();
      for (let lines = this.#queue.size; this.#batch !== undefined || lines > 0; ) {
        if (this.#batch === undefined) lines -= await this.#prepare();
        const { bytes, head } = this.#batch!;
        await this.#file.append(bytes);
        this.#batch = undefined;
        this.#head = head;
        this.#written?.(this.#taken);
        if (this.#printed === undefined || head.line - this.#printed.line >= HEAD_LINES) this.#printHead();
        this.#recovered();
        this.#syncTimer ??= setTimeout(() => void this.#sync(), SYNC_INTERVAL_MS).unref();
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Takes lines from the queue and seals them; returns how many. A new file begins with its own line. */
  async #prepare(): Promise<number> {
    const sealed = this.#sealed;
    sealed.clear(this.#head);
    const state = this.#file.state();
    if (state !== "intact" || this.#file.size >= this.#options.maxBytes) {
      await this.#file.renew();
      const isDone = state === "gone" || state === "changed";
      if (isDone) this.#options.logger.warn(`the audit log was ${DONE[state]} by another program`);
      this.#printHead();
      sealed.add(this.#opening(isDone ? state : "full"));
    }
    const waiting = this.#queue.size;
    const begun = sealed.characters;
    const room = Math.min(MAX_BATCH_CHARACTERS, this.#options.maxBytes - this.#file.size);
    // At least one, however small the file may be.
    do {
      const members = this.#queue.shift();
      if (members === undefined) break;
      this.#queuedCharacters -= members.length;
      this.#taken += 1;
      sealed.add(members);
    } while (sealed.characters - begun < room);
    this.#batch = { bytes: sealed.bytes(), head: sealed.head };
    return waiting - this.#queue.size;
  }

  #open(reason: string, { torn }: Continuation): void {
    this.#push("opened", { ...this.#opened(reason), ...(torn === undefined ? {} : { torn }) });
  }

  #opening(reason: string): string {
    return `"time":"${new Date().toISOString()}","event":"opened"${membersOf(this.#opened(reason))}`;
  }

  #opened(reason: string): object {
    return { reason, continues: formatHead(this.#head), pid: process.pid, version: this.#options.version };
  }

  async #sync(): Promise<void> {
    this.#syncTimer = undefined;
    try {
      await this.#file.sync();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#trouble !== undefined) return;
    const message = messageOf(error);
    this.#trouble = { since: Date.now(), message };
    this.#options.logger.error("the audit log cannot be written", { reason: message });
    // It is written once that is possible again, and is the next thing to be tried.
    this.#push("failed", { reason: message });
    clearTimeout(this.#timer);
    this.#timer = this.#closed ? undefined : setTimeout(this.#start, RETRY_DELAY_MS).unref();
  }

  #recovered(): void {
    if (this.#trouble === undefined) return;
    const { since } = this.#trouble;
    this.#trouble = undefined;
    this.#options.logger.warn("the audit log can be written again", {
      afterMs: Date.now() - since,
      lost: this.#lost,
    });
  }

  #printHead(): void {
    if (this.#head.hash === (this.#printed ?? NO_LINES).hash) return;
    this.#printed = this.#head;
    this.#options.logger.info("the head of the audit log", { head: formatHead(this.#head) });
  }
}

interface Draft {
  readonly atMs: number;
  readonly event: string;
  readonly facts: Facts;
  readonly who: Members;
}

/** Lines whose text is not made yet: making many at once takes less time per line. */
class Drafts {
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

  /** In the format of `toISOString`, which is called once per second. */
  #time(atMs: number): string {
    const ms = atMs % 1000;
    if (atMs - ms !== this.#second) {
      this.#second = atMs - ms;
      this.#secondText = new Date(atMs).toISOString().slice(0, -4);
    }
    return `${this.#secondText}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
  }
}
