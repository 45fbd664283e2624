import { abortable } from "../../base/deadlines.ts";
import { type ErrorCode, ExecError, messageOf, UsageError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { shorten } from "../../base/shorten.ts";
import { SpawnError } from "../process/spawn-error.ts";
import { sandboxFor } from "../calls/sandbox.ts";
import {
  type ExecCommandArgs,
  parseExecCommandArgs,
  parseWriteStdinArgs,
  type WriteStdinArgs,
} from "./arguments.ts";
import { definitionsFor, type ToolDefinition } from "./definitions.ts";
import type { ExecToolEvent } from "./events.ts";
import { ExecSession } from "./exec-session.ts";
import type { ExecSessionSummary, ExecTools, ExecToolsOptions, ToolCallResult } from "./exec-tools-api.ts";
import { type FunctionTool, type ToolCallOptions, toolsByName } from "./function-tool.ts";
import { SessionTable } from "./session-table.ts";
import { shellCommand } from "./shell-command.ts";
import type { ToolHost, ToolProcess, ToolStartOptions } from "./tool-host.ts";
import { type ExecToolResult, toText } from "./tool-result.ts";
import { pathOfServer, resolveWorkdir } from "./working-directory.ts";
import { clampYield, waitAtMost } from "./yield-window.ts";

const EXEC_YIELD_MS = 10_000;
const WRITE_YIELD_MS = 250;
const POLL_YIELD_MS = 5_000;
const OUTPUT_TOKENS = 10_000;
const MAX_SESSIONS = 64;
/** How long `close` waits for the processes it has killed. */
const CLOSE_WAIT_MS = 5_000;
const MAX_COMMAND_CHARACTERS = 200;
const INTERRUPT = "\u0003";

/** A model sees no colours and cannot leave a pager. */
const PLAIN_OUTPUT_ENV = { NO_COLOR: "1", TERM: "dumb", PAGER: "cat", GIT_PAGER: "cat", GH_PAGER: "cat" };

/** Tools that let a model run commands on a host. Sessions live as long as these tools, across any number of turns. */
export function createExecTools(host: ToolHost, options: ExecToolsOptions = {}): ExecTools {
  return new Tools(host, options);
}

class Tools implements ExecTools {
  readonly definitions: readonly ToolDefinition[];
  readonly #more: ReadonlyMap<string, FunctionTool>;
  readonly #host: ToolHost;
  readonly #options: ExecToolsOptions;
  readonly #logger: Logger;
  readonly #table: SessionTable;
  /** All sessions that have not ended, including those that left the table. */
  readonly #live = new Set<ExecSession>();
  readonly #listeners = new Set<(event: ExecToolEvent) => void>();
  #lastCall = 0;
  #closing: Promise<void> | undefined;

  constructor(host: ToolHost, options: ExecToolsOptions) {
    for (const name of ["maxSessions", "maxOutputTokens"] as const) {
      const value = options[name];
      if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
        throw new UsageError(`${name} must be a whole number of at least 1, not ${value}`);
    }
    this.#host = host;
    this.#options = options;
    const own = definitionsFor({ login: options.login ?? true });
    const names = own.map(({ name }) => name);
    this.#more = toolsByName(options.more ?? [], names);
    this.definitions = [...own, ...[...this.#more.values()].map(({ definition }) => definition)];
    this.#logger = options.logger ?? silentLogger;
    this.#table = new SessionTable(options.maxSessions ?? MAX_SESSIONS);
  }

  async call(name: string, args: unknown, options: ToolCallOptions = {}): Promise<ToolCallResult> {
    try {
      const more = this.#more.get(name);
      if (more !== undefined) return await more.call(args, options);
      const result = await this.#dispatch(name, args, options);
      return { text: toText(result), isError: false, result };
    } catch (error) {
      if (options.signal?.aborted || !(error instanceof ExecError)) throw error;
      return { text: error.message, isError: true };
    }
  }

  async exec_command(args: ExecCommandArgs, options: ToolCallOptions = {}): Promise<ExecToolResult> {
    const requested = parseExecCommandArgs(args);
    const { signal } = options;
    const startedAt = performance.now();
    const { session, notes } = await this.#start(requested, options);
    try {
      await waitAtMost(session.done, clampYield(requested.yield_time_ms, EXEC_YIELD_MS), signal);
      return this.#report(session, startedAt, notes, requested.max_output_tokens);
    } catch (error) {
      // The model never learns the session's number, so it could not end it later.
      this.#discard(session, "was ended because its call was cancelled");
      throw error;
    } finally {
      session.calls -= 1;
    }
  }

  async write_stdin(args: WriteStdinArgs, options: ToolCallOptions = {}): Promise<ExecToolResult> {
    const requested = parseWriteStdinArgs(args);
    const { signal } = options;
    signal?.throwIfAborted();
    const session = this.#table.use(requested.session_id);
    const startedAt = performance.now();
    const chars = requested.chars ?? "";
    const windowMs = clampYield(requested.yield_time_ms, chars === "" ? POLL_YIELD_MS : WRITE_YIELD_MS);
    session.calls += 1;
    try {
      const notes = chars === "" ? [] : await this.#send(session, chars, windowMs, signal);
      await waitAtMost(session.done, windowMs - (performance.now() - startedAt), signal);
      return this.#report(session, startedAt, notes, requested.max_output_tokens);
    } finally {
      session.calls -= 1;
    }
  }

  list(): ExecSessionSummary[] {
    return this.#table.sessions.map((session) => {
      const { id, callId, process, command, argv, cwd, tty } = session.facts;
      const { over, exitCode, ageMs, pendingBytes } = session;
      return {
        sessionId: id,
        callId,
        processId: process.id,
        command,
        argv,
        cwd,
        tty,
        running: !over,
        ...(exitCode === undefined ? {} : { exitCode }),
        ageMs,
        pendingBytes,
      };
    });
  }

  onEvent(listener: (event: ExecToolEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    // Marked as closed before any listener sees an end.
    this.#closing ??= Promise.resolve().then(() => this.#closeAll());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #dispatch(name: string, args: unknown, options: ToolCallOptions): Promise<ExecToolResult> {
    // Both methods validate their arguments.
    if (name === "exec_command") return this.exec_command(args as ExecCommandArgs, options);
    if (name === "write_stdin") return this.write_stdin(args as WriteStdinArgs, options);
    const names = this.definitions.map((definition) => definition.name);
    throw new UsageError(
      `there is no tool ${JSON.stringify(name)}; there are ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`,
    );
  }

  async #start(
    requested: ExecCommandArgs,
    { signal, callId }: ToolCallOptions,
  ): Promise<{ readonly session: ExecSession; readonly notes: string[] }> {
    if (this.#closing !== undefined) throw new UsageError("exec_command: the tools are closed");
    signal?.throwIfAborted();
    const argv = requested.argv ?? shellCommand(requested, this.#options, this.#host.environment);
    const base = this.#options.cwd ?? pathOfServer(this.#host.environment?.cwd);
    const cwd = resolveWorkdir(requested.workdir ?? "", base);
    const command = oneLine(requested.cmd ?? argv.join(" "));
    const tty = requested.tty ?? false;
    const evicted = this.#table.reserve();
    const notes: string[] = [];
    if (evicted !== undefined) {
      const { id, command } = evicted.facts;
      notes.push(
        evicted.over
          ? `Session ${id} (${command}) had ended and was dropped to make room; its last output was not read.`
          : `Session ${id} (${command}) was ended to make room.`,
      );
      this.#kill(evicted);
    }
    let session: ExecSession | undefined;
    try {
      const env = { ...PLAIN_OUTPUT_ENV, ...this.#options.env, ...requested.env };
      const process = await this.#startProcess(argv, {
        tty,
        ...(cwd === undefined ? {} : { cwd }),
        ...(this.#options.specKind === undefined ? {} : { specKind: this.#options.specKind }),
        ...this.#sandbox(base),
        ...(this.#options.secrets === undefined ? {} : { secrets: this.#options.secrets }),
        env,
        signal,
      });
      this.#lastCall += 1;
      const id = this.#table.nextId();
      session = new ExecSession(
        { id, callId: callId ?? `call-${this.#lastCall}`, process, argv, command, cwd, tty },
        (event) => this.#emit(event),
      );
      // Counted here, so that it is in use from its first moment in the table.
      session.calls += 1;
      this.#track(session);
      return { session, notes };
    } finally {
      this.#table.fill(session);
    }
  }

  /** The model chooses the working directory of a command, so it cannot decide what the command may write to. */
  #sandbox(base: string | undefined): Pick<ToolStartOptions, "sandbox"> {
    const { sandbox } = this.#options;
    if (sandbox === undefined) return {};
    return { sandbox: sandboxFor(this.#host, sandbox, base === undefined ? undefined : uriFromPath(base)) };
  }

  async #startProcess(
    argv: readonly string[],
    {
      tty,
      signal,
      ...options
    }: ToolStartOptions & { readonly tty: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<ToolProcess> {
    // A program with an open, silent stdin would wait for it, as many do that read stdin when they get no file.
    const starting = tty
      ? this.#host.terminal(argv, { ...options, ...this.#options.terminalSize })
      : this.#host.start(argv, { ...options, stdin: "none" });
    // A result that arrives after an abort.
    void starting.then(
      (late) => signal?.aborted && this.#killProcess(late),
      () => {},
    );
    try {
      const process = await abortable(starting, signal);
      if (this.#closing === undefined) return process;
      this.#killProcess(process);
    } catch (error) {
      if (signal?.aborted || !(error instanceof ExecError)) throw error;
      // A SpawnError already names both.
      if (error instanceof SpawnError)
        throw new ExecError(error.code, `exec_command: ${error.message}`, { cause: error });
      const where = options.cwd === undefined ? "" : ` in ${options.cwd}`;
      const message = `exec_command: ${argv[0]} was not started${where}: ${error.message}`;
      throw new ExecError(error.code, message, { cause: error });
    }
    throw new UsageError("exec_command: the tools were closed");
  }

  /** Sends input and returns notes about it. */
  async #send(
    session: ExecSession,
    chars: string,
    windowMs: number,
    signal: AbortSignal | undefined,
  ): Promise<string[]> {
    const { id, process, tty, callId } = session.facts;
    if (session.over) return ["The process had ended before the input could be sent."];
    if (!tty && chars !== INTERRUPT)
      throw new ExecError(
        "INVALID_INPUT",
        `session ${id} has no terminal and takes no input but "\\u0003", which interrupts it; ` +
          "run the command again with tty set to true to send it input",
      );
    this.#emit({ type: "terminal_interaction", callId, chars });
    const sending = tty ? process.write(chars) : process.interrupt();
    try {
      const taken = await waitAtMost(sending, windowMs, signal);
      return taken ? [] : ["The process has not taken the input yet; do not send it again."];
    } catch (error) {
      if (signal?.aborted) throw error;
      // Often the first sign of an end whose event is still in transit.
      await waitAtMost(session.done, WRITE_YIELD_MS, signal);
      if (session.over) return [`The input was not taken: ${messageOf(error)}.`];
      throw new ExecError(codeOf(error), `session ${id} did not take the input: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  #report(
    session: ExecSession,
    startedAt: number,
    notes: readonly string[],
    maxTokens: number | null | undefined,
  ): ExecToolResult {
    const { over, outputHeld, exitCode, failure } = session;
    const { id, command } = session.facts;
    if (over) {
      this.#table.remove(id, "has ended, as an earlier call reported");
      session.release();
    }
    const limit = this.#options.maxOutputTokens ?? Number.POSITIVE_INFINITY;
    const taken = session.take(Math.min(limit, maxTokens ?? OUTPUT_TOKENS));
    const allNotes = [...notes, ...taken.notes];
    if (outputHeld)
      allNotes.push("A background process holds the output open; what it writes later is not shown.");
    return {
      ...taken.cut,
      ...(over ? {} : { session_id: id }),
      ...(exitCode === undefined ? {} : { exit_code: exitCode }),
      ...(failure === undefined ? {} : { failure }),
      command,
      wall_time_seconds: (performance.now() - startedAt) / 1000,
      notes: allNotes,
    };
  }

  #track(session: ExecSession): void {
    this.#live.add(session);
    void session.done.then(() => this.#live.delete(session));
  }

  #discard(session: ExecSession, endReason: string): void {
    this.#table.remove(session.facts.id, endReason);
    this.#kill(session);
  }

  #kill(session: ExecSession): void {
    if (!session.over) this.#killProcess(session.facts.process);
    session.release();
  }

  #killProcess(process: ToolProcess): void {
    process.kill().catch((error: unknown) =>
      this.#logger.warn("a process could not be killed", {
        processId: process.id,
        reason: messageOf(error),
      }),
    );
  }

  async #closeAll(): Promise<void> {
    for (const session of this.#table.sessions) this.#discard(session, "was ended: the tools are closed");
    const ends = [...this.#live].map((session) => session.done);
    await waitAtMost(Promise.all(ends), CLOSE_WAIT_MS);
    for (const session of this.#live) session.abandon("The tools were closed before the end was known");
  }

  #emit(event: ExecToolEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.error("a listener of tool events failed", {
          type: event.type,
          reason: messageOf(error),
        });
      }
    }
  }
}

function oneLine(command: string): string {
  return shorten(command.replace(/\s+/g, " ").trim(), MAX_COMMAND_CHARACTERS);
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof ExecError ? error.code : "OS_ERROR";
}
