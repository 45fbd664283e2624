import { MAX_TIMER_MS } from "../../base/duration.ts";
import { describeExit, type ExitReport, type Killer } from "./ending/exit-report.ts";
import type { InputWriter, TerminalInput } from "./input-writer.ts";
import {
  type Chunk,
  OutputLog,
  type ProcessEvent,
  type Snapshot,
  type StreamName,
} from "./output/output-log.ts";
import type { OutputSink, OutputSource } from "./output/output-source.ts";
import type { OutputEnd } from "./output/output-holders.ts";
import type { ProcessFamily } from "./ending/process-family.ts";
import type { ExitStatus } from "../../native/reaper.ts";
import { type Screen, TerminalScreen } from "./output/terminal-screen.ts";

/** How long an ended process's output may take before its end is told without it. */
const EXIT_SETTLE_MS = 20;
const PIPE_STREAMS: readonly StreamName[] = ["stdout", "stderr"];
const TERMINAL_STREAMS: readonly StreamName[] = ["pty"];

/** How long a process that was asked to end has before it is killed. */
export const TERMINATE_GRACE_MS = 2_000;

export interface LogLimits {
  readonly maxRetainedBytes: number;
  readonly maxRetainedChunks: number;
}

/** What a started process is made of. Streams are opened here, because their sink is the process. */
export interface ProcessParts {
  readonly pid: number;
  readonly family: ProcessFamily;
  readonly input: InputWriter | undefined;
  /** The same as `input`, where that is a terminal. */
  readonly terminal?: TerminalInput;
  readonly outputs: readonly {
    stream: StreamName;
    end: OutputEnd;
    open: (sink: OutputSink) => OutputSource;
  }[];
}

export interface ProcessOptions {
  /** Ends the process after this time. */
  readonly timeoutMs?: number;
  /** Ends the output with the process, although someone may hold it open. */
  readonly closeOnExit?: boolean;
}

/** How far an end goes: the process group, or everyone who can be found to belong to the process. What is contained ends as a whole in any case. */
export type Reach = "group" | "family";

export interface ProcessState {
  readonly nextSeq: number;
  readonly exitCode: number | undefined;
  readonly report: ExitReport | undefined;
  readonly closed: boolean;
}

/**
 * One process from its start to its end. Every event gets its number and its place in the log in the same step in which it is told, so the log is
 * never behind and never ahead.
 */
export class ManagedProcess {
  readonly pid: number;
  readonly #family: ProcessFamily;
  readonly #log: OutputLog;
  readonly #input: InputWriter | undefined;
  readonly #terminal: TerminalInput | undefined;
  readonly #sources: OutputSource[] = [];
  readonly #listeners = new Set<(event: ProcessEvent) => void>();
  #openOutputs: readonly OutputEnd[];
  #settleTimer: NodeJS.Timeout | undefined;
  readonly #timeLimit: NodeJS.Timeout | undefined;
  #killTimer: NodeJS.Timeout | undefined;
  #status: ExitStatus | undefined;
  #report: ExitReport | undefined;
  /** Who sent which signal. */
  #senders: Map<string, Killer> | undefined;
  #timedOut = false;
  #screen: TerminalScreen | undefined;
  #closed = false;
  #killed = false;
  readonly #closeOnExit: boolean;

  constructor(parts: ProcessParts, limits: LogLimits, options: ProcessOptions = {}) {
    this.pid = parts.pid;
    this.#family = parts.family;
    this.#input = parts.input;
    this.#terminal = parts.terminal;
    this.#log = new OutputLog({ maxBytes: limits.maxRetainedBytes, maxChunks: limits.maxRetainedChunks });
    this.#closeOnExit = options.closeOnExit ?? false;
    if (options.timeoutMs !== undefined)
      this.#timeLimit = setTimeout(() => this.#timeOut(), Math.min(options.timeoutMs, MAX_TIMER_MS)).unref();
    this.#openOutputs = parts.outputs.map(({ end }) => end);
    for (const { stream, end, open } of parts.outputs)
      this.#sources.push(
        open({
          data: (bytes) =>
            this.#tell({ kind: "output", seq: this.#log.appendOutput(stream, bytes), stream, bytes }),
          end: () => this.#outputEnded(end),
        }),
      );
  }

  get state(): ProcessState {
    return {
      nextSeq: this.#log.nextSeq,
      exitCode: this.#report === undefined ? undefined : this.#status?.exitCode,
      report: this.#report,
      closed: this.#closed,
    };
  }

  /** Undefined when the process was started without a stdin of its own. */
  get input(): InputWriter | undefined {
    return this.#input;
  }

  /** Undefined when the process does not run on a terminal. */
  get terminal(): TerminalInput | undefined {
    return this.#terminal;
  }

  /** The oldest event that is still known, or the next one. */
  get firstSeq(): number {
    return this.#log.firstSeq;
  }

  event(seq: number): ProcessEvent | undefined {
    return this.#log.event(seq);
  }

  chunksAfter(afterSeq: number, maxBytes: number): Chunk[] {
    return this.#log.chunksAfter(afterSeq, maxBytes);
  }

  get streams(): readonly StreamName[] {
    return this.#terminal === undefined ? PIPE_STREAMS : TERMINAL_STREAMS;
  }

  /** See `OutputLog.snapshot`. */
  snapshot(stream: StreamName, maxBytes: number): Snapshot {
    return this.#log.snapshot(stream, maxBytes);
  }

  /** What the terminal shows; undefined when the process does not run on one. */
  async screen(): Promise<Screen | undefined> {
    if (this.#terminal === undefined) return undefined;
    this.#screen ??= new TerminalScreen(this);
    return this.#screen.read(this.#terminal.size);
  }

  /** All output ever, and how much of it is kept. */
  get outputBytes(): { readonly total: number; readonly retained: number } {
    return { total: this.#log.totalBytes, retained: this.#log.retainedBytes };
  }

  /** `listener` is called with every later event until the function returned is called. */
  listen(listener: (event: ProcessEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  pauseOutput(): void {
    for (const source of this.#sources) source.pause();
  }

  resumeOutput(): void {
    for (const source of this.#sources) source.resume();
  }

  /** Once the process has ended, what it left behind in its group is nobody's to signal. */
  signal(signal: NodeJS.Signals): void {
    if (this.#status !== undefined) return;
    this.#noteSender(signal, "client");
    this.#family.signal(signal);
  }

  /**
   * Kills the group, or everyone in the family, of a process that has not ended, or that is contained. Output ends with the process then, although someone
   * who left may hold it open.
   */
  kill(reach: Reach): void {
    if (this.#canEnd) this.#end("client", reach);
  }

  /** Asks the family to end. What is left of it after the time of grace is killed, the process's end or not. */
  terminate(graceMs: number, by: Killer): void {
    if (!this.#canEnd) return;
    this.askToEnd(by);
    this.#killTimer ??= setTimeout(() => this.#end(by, "family"), Math.min(graceMs, MAX_TIMER_MS)).unref();
  }

  /** Sends SIGTERM to the family, or to what the process left of it. */
  askToEnd(by: Killer): void {
    this.#noteSender("SIGTERM", by);
    this.#family.terminate(this.#openOutputs);
  }

  /** Kills the group, and ends the output although someone may hold it open: nobody will read it. */
  dispose(): void {
    if (!this.#closed || this.#family.contained) this.#end("server", "group");
  }

  /** False when something may be left that only `kill` and `dispose` can reach. */
  get gone(): boolean {
    return this.#closed && (!this.#family.contained || this.#family.gone);
  }

  /** True once `kill` was called in time. */
  get killed(): boolean {
    return this.#killed;
  }

  /** The process has been waited for. */
  exited(status: ExitStatus): void {
    this.#status = status;
    clearTimeout(this.#timeLimit);
    this.#family.leaderReaped();
    this.#input?.close();
    if (this.#killed || this.#closeOnExit) this.#finishSources();
    else for (const source of this.#sources) source.hurry();
    // What the process wrote last may be there already but not read yet. Its end reads best after it.
    if (this.#openOutputs.length === 0) this.#tellEnd();
    else this.#settleTimer = setTimeout(() => this.#tellExited(), EXIT_SETTLE_MS);
  }

  #timeOut(): void {
    this.#timedOut = true;
    this.terminate(TERMINATE_GRACE_MS, "timeout");
  }

  /** What a process leaves behind lives on, as long as nothing but its number tells whose it is. */
  get #canEnd(): boolean {
    return this.#status === undefined || this.#family.contained;
  }

  #end(by: Killer, reach: Reach): void {
    this.#killed ||= !this.#closed;
    clearTimeout(this.#killTimer);
    this.#killTimer = undefined;
    this.#noteSender("SIGKILL", by);
    if (reach === "family") this.#family.kill(this.#openOutputs);
    else this.#family.killGroup();
    if (this.#status !== undefined) this.#finishSources();
  }

  #noteSender(signal: NodeJS.Signals, by: Killer): void {
    this.#senders ??= new Map();
    this.#senders.set(signal, by);
  }

  #finishSources(): void {
    for (const source of this.#sources) source.finish();
  }

  #outputEnded(end: OutputEnd): void {
    this.#openOutputs = this.#openOutputs.filter((other) => other !== end);
    if (this.#openOutputs.length === 0 && this.#status !== undefined) this.#tellEnd();
  }

  #tellEnd(): void {
    this.#tellExited();
    if (this.#closed) return;
    this.#closed = true;
    this.#tell({ kind: "closed", seq: this.#log.appendClosed() });
    this.#listeners.clear();
    // The log is kept for a while; what it was read from need not be.
    this.#sources.length = 0;
  }

  #tellExited(): void {
    if (this.#report !== undefined || this.#status === undefined) return;
    const report = describeExit(this.#status, { senders: this.#senders, timedOut: this.#timedOut });
    this.#report = report;
    clearTimeout(this.#settleTimer);
    const { exitCode } = this.#status;
    this.#tell({ kind: "exited", seq: this.#log.appendExited(exitCode, report), exitCode, report });
  }

  #tell(event: ProcessEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
