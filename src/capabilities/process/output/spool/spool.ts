import type { Logger } from "../../../../base/logger.ts";
import { WorkLimit } from "../../../work-limit.ts";
import type { StreamName } from "../output-log.ts";
import { SpoolBlock } from "./spool-block.ts";
import type { SpoolPage, SpoolTimes } from "./spool-files.ts";
import type { SpoolDescription } from "./spool-record.ts";
import type { FromSpool, SpoolAnswers, SpoolQuestion, ToSpool } from "./spool-service.ts";

/** Output waits so long for more of it, so that many small writes become one. */
const FLUSH_MS = 200;
/** Blocks on their way to the disk: beyond this, output is not spooled. */
const MAX_BLOCKS = 64;
/** Processes that write when there are so many wait until there are only so few. */
const PAUSE_BLOCKS = 32;
const RESUME_BLOCKS = 16;
/** A disk that takes fewer blocks than these in this time is too slow: nothing waits for it for a while. */
const PACE_BLOCKS = 4;
const PACE_MS = 1_000;
const SLOW_MS = 10_000;
/** Questions that the thread has at a time: what is to be written waits for no more of them, however many there are. */
const MAX_QUESTIONS = 2;

/** The thread that writes and reads the files. */
export interface SpoolThread {
  send(message: ToSpool, moved: readonly ArrayBuffer[]): void;
  end(): Promise<void>;
}

export interface SpoolEvents {
  readonly message: (message: FromSpool) => void;
  /** It has ended by itself. */
  readonly failed: (reason: string) => void;
}

/** A process whose output is spooled. */
interface SpooledProcess {
  pauseOutput(): void;
  resumeOutput(): void;
}

interface Pending {
  readonly resolve: (answer: SpoolAnswers[SpoolQuestion["kind"]] | undefined) => void;
}

/**
 * Output on disk, for processes whose memory is not enough. A thread of its own does everything that may be slow. The
 * queue to it is bounded: processes wait for a disk that keeps pace, as if they wrote to it; what does not fit in the
 * queue of a slower one is missing in the spool.
 */
export class Spool {
  readonly #logger: Logger;
  readonly #thread: SpoolThread;
  /** The thread has failed, or everything is over. */
  #isOver = false;
  #lastKey = 0;
  #lastQuestion = 0;
  readonly #questions = new Map<number, Pending>();
  readonly #turns = new WorkLimit(MAX_QUESTIONS);
  #block: SpoolBlock | undefined;
  readonly #free: ArrayBuffer[] = [];
  /** Blocks in the queue of the thread. */
  #sent = 0;
  readonly #paused = new Set<SpooledProcess>();
  #timer: NodeJS.Timeout | undefined;
  #paceTimer: NodeJS.Timeout | undefined;
  #written = 0;
  #slowUntil = 0;
  /** The last fault that was logged. */
  #fault: string | undefined;

  /** The thread is started at once: later, there may be no descriptors left for it. */
  constructor(start: (events: SpoolEvents) => SpoolThread, logger: Logger) {
    this.#logger = logger;
    this.#thread = start({
      message: (answer) => this.#take(answer),
      failed: (reason) => this.#failed(reason),
    });
  }

  open(description: SpoolDescription): ProcessSpool {
    this.#lastKey += 1;
    return new ProcessSpool(this, this.#lastKey, description);
  }

  /** Only for `ProcessSpool`. */
  send(message: ToSpool): void {
    if (!this.#isOver) this.#thread.send(message, message.kind === "block" ? [message.block] : []);
  }

  /** Only for `ProcessSpool`. What does not fit is missing. */
  add(
    process: SpooledProcess | undefined,
    key: number,
    { seq, stream, atMs, bytes }: { seq: number; stream: StreamName; atMs: number; bytes: Uint8Array },
  ): void {
    if (this.#isOver) return;
    if (this.#block?.add(key, seq, stream, atMs, bytes) !== true) {
      this.#flush();
      if (this.#sent >= MAX_BLOCKS) {
        this.#report("the disk is too slow");
        return;
      }
      this.#block = new SpoolBlock(this.#free.pop());
      if (!this.#block.add(key, seq, stream, atMs, bytes)) return;
    }
    this.#timer ??= setTimeout(() => this.#flushLater(), FLUSH_MS).unref();
    if (process !== undefined && this.#sent >= PAUSE_BLOCKS) this.#pause(process);
  }

  /** Only for `ProcessSpool`. Undefined if there is no answer any more. */
  ask<Q extends SpoolQuestion>(question: Q): Promise<SpoolAnswers[Q["kind"]] | undefined> {
    return this.#turns.run(() => this.#ask(question));
  }

  #ask<Q extends SpoolQuestion>(question: Q): Promise<SpoolAnswers[Q["kind"]] | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    // What was added before is in the answer.
    this.#flush();
    this.#lastQuestion += 1;
    const number = this.#lastQuestion;
    return new Promise((resolve) => {
      this.#questions.set(number, { resolve: resolve as Pending["resolve"] });
      this.send({ kind: "question", number, question });
    });
  }

  /** Ends the thread; resolves when nothing is written any more. What is on disk stays there. */
  close(): Promise<void> {
    this.#over();
    return this.#thread.end();
  }

  #flushLater(): void {
    this.#timer = undefined;
    // A disk with so much to do gets full blocks.
    if (this.#sent < RESUME_BLOCKS) this.#flush();
    else this.#timer = setTimeout(() => this.#flushLater(), FLUSH_MS).unref();
  }

  #flush(): void {
    const block = this.#block;
    if (block === undefined) return;
    this.#block = undefined;
    this.#sent += 1;
    this.send({ kind: "block", block: block.buffer, length: block.length });
  }

  #take(message: FromSpool): void {
    if (message.kind === "answer") {
      this.#questions.get(message.number)?.resolve(message.answer);
      this.#questions.delete(message.number);
      return;
    }
    this.#sent -= 1;
    this.#written += 1;
    if (this.#free.length < PAUSE_BLOCKS) this.#free.push(message.block);
    if (message.fault !== undefined) this.#report(message.fault);
    else if (this.#sent === 0) this.#fault = undefined;
    if (this.#sent <= RESUME_BLOCKS) this.#resumeAll();
  }

  #pause(process: SpooledProcess): void {
    if (this.#paused.has(process) || performance.now() < this.#slowUntil) return;
    this.#paused.add(process);
    process.pauseOutput();
    if (this.#paceTimer !== undefined) return;
    this.#written = 0;
    this.#paceTimer = setTimeout(() => this.#checkPace(), PACE_MS).unref();
  }

  #checkPace(): void {
    this.#paceTimer = undefined;
    if (this.#paused.size === 0) return;
    if (this.#written >= PACE_BLOCKS) {
      this.#written = 0;
      this.#paceTimer = setTimeout(() => this.#checkPace(), PACE_MS).unref();
      return;
    }
    this.#slowUntil = performance.now() + SLOW_MS;
    this.#resumeAll();
  }

  #resumeAll(): void {
    for (const process of this.#paused) {
      this.#paused.delete(process);
      process.resumeOutput();
    }
  }

  #report(fault: string): void {
    if (fault !== this.#fault)
      this.#logger.warn("output cannot be written to disk, and is kept in memory only", { reason: fault });
    this.#fault = fault;
  }

  #failed(reason: string): void {
    if (this.#isOver) return;
    this.#logger.error("the thread that writes output to disk has failed", { reason });
    this.#over();
  }

  #over(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#paceTimer);
    this.#block = undefined;
    this.#resumeAll();
    for (const { resolve } of this.#questions.values()) resolve(undefined);
    this.#questions.clear();
  }
}

/** The spooled output of one process. */
export class ProcessSpool {
  readonly #spool: Spool;
  readonly #key: number;
  readonly #description: SpoolDescription;
  #process: SpooledProcess | undefined;
  #state: "new" | "open" | "removed" = "new";

  constructor(spool: Spool, key: number, description: SpoolDescription) {
    this.#spool = spool;
    this.#key = key;
    this.#description = description;
  }

  /** Lets a process wait for the disk. */
  follow(process: SpooledProcess): void {
    this.#process = process;
  }

  /** Copies output with a later number than before. */
  add(seq: number, stream: StreamName, bytes: Uint8Array): void {
    if (this.#state === "removed") return;
    if (this.#state === "new")
      this.#spool.send({ kind: "open", key: this.#key, description: this.#description });
    this.#state = "open";
    this.#spool.add(this.#process, this.#key, { seq, stream, atMs: Date.now(), bytes });
  }

  /** Output between two numbers: see `SpoolFiles.read`. Nothing if there is none. */
  async read(afterSeq: number, beforeSeq: number, maxBytes: number): Promise<SpoolPage> {
    const page =
      this.#state === "open"
        ? await this.#spool.ask({ kind: "read", key: this.#key, afterSeq, beforeSeq, maxBytes })
        : undefined;
    return page ?? { chunks: [], endSeq: beforeSeq };
  }

  /** See `SpoolFiles.times`. */
  async times(fromSeq: number, beforeSeq: number, maxCount: number): Promise<SpoolTimes> {
    const times =
      this.#state === "open"
        ? await this.#spool.ask({ kind: "times", key: this.#key, fromSeq, beforeSeq, maxCount })
        : undefined;
    return times ?? { firstSeq: beforeSeq, timesMs: [] };
  }

  /** See `SpoolFiles.since`. */
  async since(timeMs: number): Promise<number | undefined> {
    if (this.#state !== "open") return undefined;
    return this.#spool.ask({ kind: "since", key: this.#key, timeMs });
  }

  /** Removes it from the disk. */
  remove(): void {
    if (this.#state === "open") this.#spool.send({ kind: "remove", key: this.#key });
    this.#state = "removed";
  }
}
