import { MAX_TIMER_MS } from "../../base/duration.ts";
import { describeExit, type ExitReport, type Killer } from "./exit-report.ts";
import type { InputWriter, TerminalInput } from "./input-writer.ts";
import {
  type Chunk,
  type Exit,
  type LogLimits,
  OutputLog,
  type ProcessEvent,
  type Snapshot,
  type StreamName,
} from "./output/output-log.ts";
import type { OutputSink, OutputSource } from "./output/output-source.ts";
import type { OutputEnd } from "./output/output-holders.ts";
import { ENDED_FAMILY, type ProcessFamily } from "./ending/process-family.ts";
import type { MachineUsage, Usage } from "./usage/machine-usage.ts";
import type { ExitStatus } from "../../native/reaper.ts";
import { looksDenied } from "./sandbox-denied.ts";
import type { ProcessSpool } from "./output/spool/spool.ts";
import { type Screen, TerminalScreen } from "./output/screen/terminal-screen.ts";

/** How long to wait for an ended process's output before its exit is reported. */
const EXIT_SETTLE_MS = 20;
const PIPE_STREAMS: readonly StreamName[] = ["stdout", "stderr"];
const TERMINAL_STREAMS: readonly StreamName[] = ["pty"];
const NO_SOURCES: readonly OutputSource[] = [];

/** Grace period between SIGTERM and SIGKILL. */
export const TERMINATE_GRACE_MS = 2_000;

/** Parts of a started process. Streams are opened here, because the process is their sink. */
export interface ProcessParts {
  readonly pid: number;
  readonly family: ProcessFamily;
  readonly input: InputWriter | undefined;
  /** Same as `input`, if that is a terminal. */
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
  /** Ends the output with the process, even if something else keeps it open. */
  readonly closeOnExit?: boolean;
  /** Whether it runs in a sandbox, which may be the reason for its failure. */
  readonly sandboxed?: boolean;
  /** Follows the terminal's screen from the start, so that it is right whatever was evicted. */
  readonly followScreen?: boolean;
  /** Keeps on disk what memory is not enough for. */
  readonly spool?: ProcessSpool;
  /** Called once, when the first output is evicted from memory. */
  readonly evicted?: () => void;
}

/**
 * Scope of an end: the process group, or everything found to belong to the process. Contained processes always end as a
 * whole.
 */
export type Reach = "group" | "family";

export interface ProcessState {
  readonly nextSeq: number;
  readonly exitCode: number | undefined;
  readonly report: ExitReport | undefined;
  readonly sandboxDenied: boolean;
  readonly closed: boolean;
  /** Number of the event `exited`. */
  readonly exitSeq: number | undefined;
}

/**
 * One process from its start to its end. Every event gets its number and its place in the log in the same step in which
 * it is reported, so the log is never behind and never ahead.
 */
export class ManagedProcess {
  readonly pid: number;
  #family: ProcessFamily;
  readonly #log: OutputLog;
  /** Holds the whole output, as far as its limits allow. */
  readonly spool: ProcessSpool | undefined;
  /** Undefined if the process was started without its own stdin. */
  readonly input: InputWriter | undefined;
  /** Undefined if the process does not run on a terminal. */
  readonly terminal: TerminalInput | undefined;
  #sources: readonly OutputSource[];
  /** Undefined once it has closed. */
  #listeners: Set<(event: ProcessEvent) => void> | undefined = new Set();
  #openOutputs: readonly OutputEnd[];
  #settleTimer: NodeJS.Timeout | undefined;
  readonly #timeLimit: NodeJS.Timeout | undefined;
  #killTimer: NodeJS.Timeout | undefined;
  #reaped = false;
  /** Kept until it is reported. */
  #status: ExitStatus | undefined;
  #exit: Exit | undefined;
  #exitSeq: number | undefined;
  /** Sender of each signal. */
  #senders: Map<string, Killer> | undefined;
  #timedOut = false;
  #screen: TerminalScreen | undefined;
  /** Number of pending pauses of the output. */
  #pauses = 0;
  #closed = false;
  #killed = false;
  readonly #closeOnExit: boolean;
  readonly #sandboxed: boolean;

  constructor(parts: ProcessParts, limits: LogLimits, options: ProcessOptions = {}) {
    this.pid = parts.pid;
    this.#family = parts.family;
    this.input = parts.input;
    this.terminal = parts.terminal;
    this.#log = new OutputLog(limits, options.evicted);
    this.spool = options.spool;
    this.spool?.follow(this);
    this.#closeOnExit = options.closeOnExit ?? false;
    this.#sandboxed = options.sandboxed ?? false;
    if (options.timeoutMs !== undefined)
      this.#timeLimit = setTimeout(() => this.#timeOut(), Math.min(options.timeoutMs, MAX_TIMER_MS)).unref();
    this.#openOutputs = parts.outputs.map(({ end }) => end);
    this.#sources = parts.outputs.map(({ stream, end, open }) =>
      open({
        data: (bytes) => {
          const seq = this.#log.appendOutput(stream, bytes);
          this.spool?.add(seq, stream, bytes);
          this.#emit({ kind: "output", seq, stream, bytes });
        },
        end: () => this.#outputEnded(end),
      }),
    );
    if (options.followScreen === true) this.#terminalScreen()?.follow();
  }

  get state(): ProcessState {
    return {
      nextSeq: this.#log.nextSeq,
      exitCode: this.#exit?.exitCode,
      report: this.#exit?.report,
      sandboxDenied: this.#exit?.sandboxDenied ?? false,
      closed: this.#closed,
      exitSeq: this.#exitSeq,
    };
  }

  /** The oldest event in memory, or the next one. */
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
    return this.terminal === undefined ? PIPE_STREAMS : TERMINAL_STREAMS;
  }

  /** See `OutputLog.timesFrom`. */
  timesFrom(seq: number, maxCount: number): { firstSeq: number; timesMs: number[] } {
    return this.#log.timesFrom(seq, maxCount);
  }

  /** See `OutputLog.since`. */
  since(timeMs: number): number | undefined {
    return this.#log.since(timeMs);
  }

  /** See `OutputLog.snapshot`. */
  snapshot(stream: StreamName, maxBytes: number): Snapshot {
    return this.#log.snapshot(stream, maxBytes);
  }

  /** Contents of the terminal; undefined if the process does not run on one. */
  async screen(options: { paint?: boolean } = {}): Promise<Screen | undefined> {
    return this.#terminalScreen()?.read(options);
  }

  /** Total output, and how much of it is kept. */
  get outputBytes(): { readonly total: number; readonly retained: number } {
    return { total: this.#log.totalBytes, retained: this.#log.retainedBytes };
  }

  /** The family's usage; undefined once the process has ended. */
  usage(machine: MachineUsage): Usage | undefined {
    return this.#reaped ? undefined : this.#family.usage(machine);
  }

  /** Numbers of the process and of what it has started; none once it has ended. */
  members(machine: MachineUsage): Iterable<number> {
    return this.#reaped ? [] : this.#family.members(machine);
  }

  /** Calls `listener` on every later event, until the returned function is called. */
  listen(listener: (event: ProcessEvent) => void): () => void {
    this.#listeners?.add(listener);
    return () => this.#listeners?.delete(listener);
  }

  /** Pauses until `resumeOutput` has been called as often. */
  pauseOutput(): void {
    this.#pauses += 1;
    if (this.#pauses === 1) for (const source of this.#sources) source.pause();
  }

  resumeOutput(): void {
    this.#pauses -= 1;
    if (this.#pauses === 0) for (const source of this.#sources) source.resume();
  }

  /** Once the process has ended, what it left in its group must not be signalled. */
  signal(signal: NodeJS.Signals): void {
    if (this.#reaped) return;
    this.#noteSender(signal, "client");
    this.#family.signal(signal);
  }

  /**
   * Kills the group, or the whole family, of a process that has not ended or is contained; the family also while it
   * keeps the output of an ended process open. The output then ends with the process, even if something that left keeps
   * it open.
   */
  kill(reach: Reach): void {
    if (this.#canEnd(reach)) this.#end("client", reach);
  }

  /**
   * Sends SIGTERM to the family, and SIGKILL to what is left after the grace period, whether or not the process itself
   * has ended.
   */
  terminate(graceMs: number, by: Killer): void {
    if (!this.#canEnd("family")) return;
    this.askToEnd(by);
    this.#killTimer ??= setTimeout(() => this.#end(by, "family"), Math.min(graceMs, MAX_TIMER_MS)).unref();
  }

  /** Sends SIGTERM to the family, or to what the process left of it. */
  askToEnd(by: Killer): void {
    this.#noteSender("SIGTERM", by);
    this.#family.terminate(this.#openOutputs);
  }

  /** Kills the group, and ends the output even if something keeps it open, because it has no readers. */
  dispose(): void {
    if (!this.#closed || this.#family.contained) this.#end("server", "group");
  }

  /** False if something may be left that only `kill` and `dispose` can reach. */
  get gone(): boolean {
    return this.#closed && (!this.#family.contained || this.#family.gone);
  }

  /** True once `kill` was called in time. */
  get killed(): boolean {
    return this.#killed;
  }

  /** The process has been reaped. */
  exited(status: ExitStatus): void {
    this.#reaped = true;
    this.#status = status;
    clearTimeout(this.#timeLimit);
    this.#family.leaderReaped();
    this.input?.close();
    if (this.#killed || this.#closeOnExit) this.#finishSources();
    else for (const source of this.#sources) source.hurry();
    // The last output may have arrived but not been read. Report the exit after it if possible: also when the server was
    // so busy that its timers are late and come before what there is to read.
    if (this.#openOutputs.length === 0) this.#emitEnd();
    else this.#settleTimer = setTimeout(() => setImmediate(() => this.#emitExited()), EXIT_SETTLE_MS);
  }

  #terminalScreen(): TerminalScreen | undefined {
    const terminal = this.terminal;
    if (terminal === undefined) return undefined;
    this.#screen ??= new TerminalScreen(this, () => terminal.size);
    return this.#screen;
  }

  #timeOut(): void {
    this.#timedOut = true;
    this.terminate(TERMINATE_GRACE_MS, "timeout");
  }

  /**
   * What an ended process left behind survives, because only its number would identify it; unless it holds the output,
   * which identifies it as well.
   */
  #canEnd(reach: Reach): boolean {
    return !this.#reaped || this.#family.contained || (reach === "family" && !this.#closed);
  }

  #end(by: Killer, reach: Reach): void {
    this.#killed ||= !this.#closed;
    clearTimeout(this.#killTimer);
    this.#killTimer = undefined;
    this.#noteSender("SIGKILL", by);
    if (reach === "family") this.#family.kill(this.#openOutputs);
    else this.#family.killGroup();
    if (this.#reaped) this.#finishSources();
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
    if (this.#openOutputs.length === 0 && this.#reaped) this.#emitEnd();
  }

  #emitEnd(): void {
    this.#emitExited();
    if (this.#closed) return;
    this.#closed = true;
    this.#emit({ kind: "closed", seq: this.#log.appendClosed() });
    // The log is kept for a while; the rest can go.
    this.#listeners = undefined;
    this.#sources = NO_SOURCES;
    this.#settleTimer = undefined;
    // What is left after the grace period of `terminate` still has to be killed.
    if (!this.#family.contained && this.#killTimer === undefined) this.#family = ENDED_FAMILY;
  }

  #emitExited(): void {
    if (this.#exit !== undefined || this.#status === undefined) return;
    const { exitCode } = this.#status;
    const report = describeExit(this.#status, { senders: this.#senders, timedOut: this.#timedOut });
    const sandboxDenied = this.#sandboxed && looksDenied(exitCode, () => this.#log.chunksAfter(0, Infinity));
    this.#exit = { exitCode, report, sandboxDenied };
    this.#status = undefined;
    clearTimeout(this.#settleTimer);
    this.#exitSeq = this.#log.appendExited(this.#exit);
    this.#emit({ kind: "exited", seq: this.#exitSeq, ...this.#exit });
  }

  #emit(event: ProcessEvent): void {
    for (const listener of this.#listeners ?? []) listener(event);
  }
}

export function whenClosed(process: ManagedProcess, callback: () => void): void {
  process.listen((event) => {
    if (event.kind === "closed") callback();
  });
}
