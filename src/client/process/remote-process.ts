import { abortable, settledWithin, within } from "../../base/deadlines.ts";
import { checkDuration, checkFinite } from "../../base/duration.ts";
import { ConnectionError, ExecError, UsageError } from "../../base/errors.ts";
import type { Result } from "../../protocol/index.ts";
import type { Enforced, SignalName } from "../../protocol/process.ts";
import type { ClientSession } from "../session/session.ts";
import { needs } from "../calls/unsupported.ts";
import { collect, type Collected, type CollectOptions, feed } from "./collect.ts";
import type { InputSource } from "./input-source.ts";
import { checkLineOptions, type LineOptions, readLines } from "./line-reader.ts";
import { type OutputOptions, OutputReader, streamsOf } from "./output-reader.ts";
import { type NodeWritable, type PipeOptions, pipeOutput, toReadableStream } from "./output-streams.ts";
import type { ExitReport, OutputChunk, ProcessEvent } from "../routes/process-events.ts";
import { ProcessInput } from "./process-input.ts";
import type { ProcessRoute } from "../routes/process-route.ts";
import type { SubscriptionOptions } from "../routes/subscription.ts";
import { readSnapshot, type Snapshot } from "./snapshot.ts";

/** Timeout for the end of a killed process. */
const DISPOSE_DEADLINE_MS = 5_000;

/** How long to wait for an end. */
export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Rejects with the code TIMED_OUT after this time; Infinity means never. The process continues. */
  readonly timeoutMs?: number;
}

/** How much output to keep, and when to give up. */
export interface CommunicateOptions extends CollectOptions {
  readonly signal?: AbortSignal;
}

/** How to leave a kept process. */
export interface DetachOptions {
  /**
   * Also forgets the process if it has ended: its output is gone and its name is free. Needs control of it, and a server
   * that announces `process/detach.forget`.
   */
  readonly forget?: boolean;
}

/** A process on the server's machine. */
export class RemoteProcess implements AsyncDisposable {
  readonly id: string;
  /** True on a terminal. */
  readonly tty: boolean;
  /** Process id on the server's machine; undefined if the server does not report it. */
  readonly pid: number | undefined;
  /**
   * What confines the process, such as `linuxSeccomp`; `none` if nothing does. Undefined for a process that was started
   * elsewhere, and on an older server.
   */
  readonly sandboxType: Result<"process/start">["sandboxType"];
  /** What the process's sandbox enforces; undefined without one, and if the server does not report it. */
  readonly enforced: Readonly<Enforced> | undefined;
  readonly #session: ClientSession;
  readonly #route: ProcessRoute;
  readonly #input: ProcessInput;
  #stdout: ReadableStream<Uint8Array> | undefined;
  #stderr: ReadableStream<Uint8Array> | undefined;

  constructor(
    session: ClientSession,
    route: ProcessRoute,
    {
      tty,
      pid,
      sandboxType,
      enforced,
    }: Pick<RemoteProcess, "tty"> & Partial<Pick<RemoteProcess, "pid" | "sandboxType" | "enforced">>,
  ) {
    this.id = route.processId;
    this.tty = tty;
    this.pid = pid;
    this.sandboxType = sandboxType;
    this.enforced = enforced;
    this.#session = session;
    this.#route = route;
    this.#input = new ProcessInput(session, route);
  }

  /** Name of a kept process; undefined for any other. */
  get name(): string | undefined {
    return this.#route.kept?.name;
  }

  /** Owner of a kept process of another principal. */
  get owner(): string | undefined {
    return this.#route.kept?.owner;
  }

  /** How the process ended. Output may still follow. Rejects with a ConnectionError if the session was lost. */
  get exited(): Promise<ExitReport> {
    return this.#route.exited;
  }

  /** Resolves when the process and its output have ended. */
  get closed(): Promise<void> {
    return this.#route.closed;
  }

  /** True if nothing more will happen. */
  get isClosed(): boolean {
    return this.#route.finished;
  }

  /**
   * The output from its beginning, in order, every byte once. A reader that stops makes the process wait once some
   * buffers are full; leaving the loop lets it continue.
   */
  output(options: OutputOptions = {}): AsyncIterableIterator<OutputChunk> {
    const streams = streamsOf(options.stream ?? "both");
    const events = this.#route.subscribe(streams === undefined ? options : { ...options, streams });
    return new OutputReader(events, options);
  }

  /**
   * The output as lines of text, without line endings: `for await (const line of process.lines())`. `stream` selects
   * what to read. Default: `stdout`; with `both`, the lines of the two streams arrive as they are completed.
   */
  lines({ maxLineBytes, ...options }: OutputOptions & LineOptions = {}): AsyncIterableIterator<string> {
    const lineOptions = maxLineBytes === undefined ? {} : { maxLineBytes };
    // Before the output is opened, because a mistake would leave it unread.
    checkLineOptions(lineOptions);
    return readLines(this.output({ stream: "stdout", ...options }), lineOptions);
  }

  /**
   * The output, or everything a terminal shows, as a web stream: the same one each time. A reader that stops makes the
   * process wait.
   */
  get stdout(): ReadableStream<Uint8Array> {
    this.#stdout ??= toReadableStream(this.output({ stream: "stdout" }));
    return this.#stdout;
  }

  /** The same for stderr, which is empty on a terminal. */
  get stderr(): ReadableStream<Uint8Array> {
    this.#stderr ??= toReadableStream(this.output({ stream: "stderr" }));
    return this.#stderr;
  }

  /**
   * Writes the output to a Node `Writable` or a web `WritableStream`, as fast as it accepts it. Resolves when all of it
   * is written, and the destination is completed unless `end` is false.
   */
  pipe(
    destination: NodeWritable | WritableStream<Uint8Array>,
    { end, ...options }: OutputOptions & PipeOptions = {},
  ): Promise<void> {
    return pipeOutput(this.output(options), destination, end === undefined ? {} : { end });
  }

  /**
   * All events in order: output, `exited`, `closed`, gaps, and `failed` if the session was lost. A late reader gets the
   * latest 256 events (1 MiB) from memory and earlier ones from the server.
   */
  events(
    options: Pick<OutputOptions, "signal" | "onLag"> & Pick<SubscriptionOptions, "skipMissed"> = {},
  ): AsyncIterableIterator<ProcessEvent> {
    return this.#route.subscribe(options);
  }

  /**
   * Writes to the terminal or the piped stdin. Resolves when the server has accepted it; a write interrupted by a lost
   * connection is sent again. Rejects with the code STDIN_CLOSED if the process has ended or takes no input.
   */
  write(data: string | Uint8Array, options: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#input.write(data, options);
  }

  /**
   * Writes everything from a Node `Readable`, a web `ReadableStream` or an iterable, as fast as the process takes it,
   * and then ends the input if the server can, unless `end` is false. If the process takes no more, the source is
   * destroyed or cancelled and this rejects with the code STDIN_CLOSED.
   */
  async writeFrom(source: InputSource, options: { end?: boolean; signal?: AbortSignal } = {}): Promise<void> {
    await this.#input.writeFrom(source, options);
  }

  /** Ends the input, after everything written. Needs a server that announces `process/closeStdin`. */
  async closeStdin(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#input.close(options);
  }

  /** Resizes the terminal. Needs a server that announces `process/resize`. */
  async resize({ cols, rows }: { cols: number; rows: number }): Promise<void> {
    this.#route.needsControl();
    needs(this.#session, "process/resize");
    await this.#session.request("process/resize", { processId: this.id, cols, rows });
  }

  /**
   * Gives a kept process another name. Needs control of it, and a server that announces `process/rename`. Other programs
   * that are attached to it stay attached until they lose their session.
   */
  async rename(name: string): Promise<void> {
    const { kept } = this.#route;
    if (kept === undefined) throw new UsageError(`process ${this.id} has no name: only a kept process does`);
    this.#route.needsControl();
    needs(this.#session, "process/rename");
    await this.#session.request("process/rename", { processId: this.id, name });
    this.#route.kept = { ...kept, name };
  }

  /** Sends SIGINT to the process group, as Ctrl-C does. */
  async interrupt(): Promise<void> {
    await this.signal("interrupt");
  }

  /** Sends a signal to the process group. A Codex server has only `interrupt`. */
  async signal(signal: SignalName): Promise<void> {
    this.#route.needsControl();
    if (signal !== "interrupt" && signal !== "SIGINT") needs(this.#session, "process/signal.signal");
    const name = signal === "SIGINT" ? "interrupt" : signal;
    // Not repeated if the answer is lost: a second Ctrl-C often means something different.
    await this.#session.request("process/signal", { processId: this.id, signal: name });
  }

  /**
   * Sends SIGTERM to the process group, and kills what is left after `timeoutMs` (default: 2 s). Resolves with whether
   * the process was still running.
   */
  async terminate({ timeoutMs }: { timeoutMs?: number } = {}): Promise<boolean> {
    this.#route.needsControl();
    needs(this.#session, "process/terminate.mode");
    const timeout = timeoutMs === undefined ? {} : { timeoutMs: checkFinite("timeoutMs", timeoutMs) };
    const params = { processId: this.id, mode: "graceful" as const, ...timeout };
    return (await this.#session.request("process/terminate", params)).running;
  }

  /**
   * The beginning and the end of the output so far, per stream, with the number of bytes omitted between them. It costs
   * neither the process nor its readers anything. Needs a server that announces `process/snapshot`.
   */
  async snapshot(
    options: {
      maxBytes?: number;
      /** Adds the screen of a terminal, line by line. */
      screen?: boolean;
      /** Adds the screen with what paints it. */
      paint?: boolean;
    } = {},
  ): Promise<Snapshot> {
    needs(this.#session, "process/snapshot");
    if (options.paint === true) needs(this.#session, "process/snapshot.paint");
    return readSnapshot(await this.#session.request("process/snapshot", { processId: this.id, ...options }));
  }

  /** Kills the process group at once. Resolves with whether the process was still running. */
  async kill(): Promise<boolean> {
    this.#route.needsControl();
    const { running } = await this.#session.request("process/terminate", { processId: this.id });
    return running;
  }

  /** Waits for the end of the process, not of its output. */
  async wait({ signal, timeoutMs }: WaitOptions = {}): Promise<ExitReport> {
    const exited = abortable(this.exited, signal);
    if (timeoutMs === undefined) return exited;
    const late = (): Error =>
      new ExecError("TIMED_OUT", `process ${this.id} still runs after ${timeoutMs} ms`);
    return within(exited, checkDuration("timeoutMs", timeoutMs), late);
  }

  /**
   * Writes `input`, closes stdin if the server can, waits for the end and returns the output, limited to its head and
   * tail. Call it before the process has written more than a late reader can still get.
   */
  async communicate(
    input?: string | Uint8Array | InputSource,
    { signal, ...options }: CommunicateOptions = {},
  ): Promise<Collected> {
    const collected = collect(this.#route, { ...options, signal });
    if (input === undefined) return abortable(collected, signal);
    return feed(this, input, { close: this.#session.supports("process/closeStdin"), signal }, collected);
  }

  /**
   * One `process/read`, for callers that poll; see `woken`. After the session was lost, it answers locally, with
   * `failure` set.
   */
  async read(
    options: { afterSeq?: number; maxBytes?: number; waitMs?: number; signal?: AbortSignal } = {},
  ): Promise<Result<"process/read">> {
    const { afterSeq = 0, maxBytes = null, waitMs = 0 } = options;
    checkFinite("waitMs", waitMs);
    const { failure } = this.#route;
    if (failure !== undefined) return failedRead(this.wake, failure);
    try {
      const params = { processId: this.id, afterSeq, maxBytes, waitMs };
      return await this.#session.request("process/read", params, options);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      return failedRead(this.wake, error);
    }
  }

  /** A number that increases with every event. */
  get wake(): number {
    return this.#route.wake;
  }

  /** Resolves with the new number when `wake` is no longer `after`. */
  woken(after: number, options: { signal?: AbortSignal } = {}): Promise<number> {
    return abortable(this.#route.woken(after), options.signal);
  }

  /**
   * Ends the attachment to a kept process, which continues. Readers here end with the code CONNECTION_CLOSED; the process
   * can be attached again with `Host.attachKept`.
   */
  async detach(options: DetachOptions = {}): Promise<void> {
    const { forget = false } = options;
    const { kept, failure } = this.#route;
    if (kept === undefined)
      throw new UsageError(`process ${this.id} ends with its session: only a kept process can be detached`);
    if (forget) {
      this.#route.needsControl();
      needs(this.#session, "process/detach.forget");
    }
    // Without a session, nothing is attached.
    if (failure !== undefined) return;
    this.#route.fail(new ConnectionError(`the kept process ${kept.name} was detached; it keeps running`));
    const params = { processId: this.id, ...(forget ? { forget } : {}) };
    await this.#session.request("process/detach", params).catch((error: unknown) => {
      // The server has forgotten a process that ended long ago, or the answer to a first attempt was lost; without a
      // session, nothing is attached.
      const isGone = error instanceof ExecError && error.code === "NOT_FOUND";
      if (!isGone && !(error instanceof ConnectionError)) throw error;
    });
  }

  /** Kills the process if it still runs, and waits for its end. A kept process is only detached. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#route.kept !== undefined) {
      await settledWithin(this.detach(), DISPOSE_DEADLINE_MS);
      return;
    }
    if (this.isClosed) return;
    // Only the end matters; if the server does not answer, or something keeps the output open, nothing more can be
    // done.
    await settledWithin(
      this.kill().then(() => this.closed),
      DISPOSE_DEADLINE_MS,
    );
  }
}

/** The answer to a read after the session was lost. */
function failedRead(wake: number, { message }: ExecError): Result<"process/read"> {
  return {
    chunks: [],
    nextSeq: wake + 1,
    exited: true,
    exitCode: null,
    closed: true,
    failure: message,
    sandboxDenied: false,
  };
}
