import { abortable, onAbort, pause } from "../../base/deadlines.ts";
import { defined } from "../../base/defined.ts";
import { formatDuration } from "../../base/duration.ts";
import { ConnectionError, ExecError, messageOf, RpcError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import type { Host } from "../../client/host/host.ts";
import type { Collected } from "../../client/process/collect.ts";
import { knownExit } from "../../client/process/known-exit.ts";
import type { RemoteProcess } from "../../client/process/remote-process.ts";
import { argvWithInputLength, type StartOptions } from "../../client/process/start-request.ts";
import { SpawnError } from "../../client/process/spawn-error.ts";
import { RecordError } from "../engine/record-error.ts";
import type { JsonValue, RowAttempt, RowItem, RowOutcome } from "../engine/row.ts";
import type { CheckResult } from "../result/result-schema.ts";
import { endProcess, KeptRows } from "./kept-rows.ts";
import type { RowCommand } from "./row-command.ts";

/** Beginning and end of each stream that are collected, together. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Pauses between attempts to start a process while the server has as many as it may have. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;
const MAX_ERROR_CHARACTERS = 2_000;

export interface MapWorkOptions {
  readonly host: Host;
  /** Name of the host in results. */
  readonly hostName: string | undefined;
  readonly command: RowCommand;
  readonly stdin: "none" | "json";
  readonly result: ResultOptions;
  readonly start: StartOptions;
  readonly timeoutMs: number | undefined;
  /** Other hosts that could run the row, if there are several. */
  readonly others?: OtherHosts;
}

/** How to turn a command's output into a result. */
interface ResultOptions {
  /** `text`: stdout, without its last line break; the middle of a long one is left out. `json`: stdout, parsed. */
  readonly kind: "text" | "json";
  readonly check?: CheckResult | undefined;
  readonly timeoutMs?: number | undefined;
}

/** When a row should run on another host instead. */
interface OtherHosts {
  /** Whether another host has room for a row that this one has none for. */
  readonly haveRoom: () => boolean;
  /** True for errors of a start that another host need not have. */
  readonly mayDiffer: (error: unknown) => boolean;
}

/** Runs the commands of rows on a host. */
export class MapWork {
  readonly #options: MapWorkOptions;
  /** The processes that the server keeps for rows. */
  readonly kept: KeptRows;
  readonly #facts: { readonly host?: string };

  constructor(options: MapWorkOptions) {
    this.#options = options;
    this.kept = new KeptRows(options.host, { hasInput: options.stdin === "json" });
    this.#facts = defined({ host: options.hostName });
  }

  readonly run = async (attempt: RowAttempt): Promise<RowOutcome> => {
    let process: RemoteProcess | undefined;
    try {
      process = await this.#start(attempt);
    } catch (error) {
      attempt.signal.throwIfAborted();
      if (isOfTheHost(error) || this.#options.others?.mayDiffer(error) === true) throw error;
      const isTransient = error instanceof SpawnError && error.reason === "limit";
      return { status: "failed", error: (error as Error).message, retry: isTransient, ...this.#facts };
    }
    return await this.#follow(process, attempt, inputOf(attempt.item, this.#options));
  };

  readonly takeOver = async (attempt: RowAttempt): Promise<RowOutcome | undefined> => {
    const process = await this.kept.find(attempt);
    if (process === undefined) return undefined;
    return await this.#follow(process, attempt, undefined);
  };

  /** Whether the attempt's process is left for the run that resumes the job. */
  #isLeft({ signal }: RowAttempt): boolean {
    return this.kept.isUsed && signal.reason instanceof RecordError;
  }

  /** Aborted when what the attempt has started must end. */
  #endOf(attempt: RowAttempt): AbortSignal {
    const end = new AbortController();
    onAbort(attempt.signal, (reason) => {
      if (!this.#isLeft(attempt)) end.abort(reason);
    });
    return end.signal;
  }

  async #start(attempt: RowAttempt): Promise<RemoteProcess> {
    const { host, start, stdin, timeoutMs, others } = this.#options;
    const { item, signal } = attempt;
    const options: StartOptions = {
      ...start,
      signal: this.#endOf(attempt),
      stdin: stdin === "json" ? "pipe" : "none",
      env: { ...start.env, ...environmentOf(attempt) },
      ...(this.kept.isUsed ? { keep: this.kept.nameOf(attempt) } : {}),
      // The server's timeout works even if this program is killed.
      ...(timeoutMs !== undefined && host.supports("process/start.timeoutMs") ? { timeoutMs } : {}),
    };
    const argv = this.#argvFor(item);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        const process = await abortable(host.start(argv, options), signal);
        attempt.waits(undefined);
        return process;
      } catch (error) {
        // The name is unique to the attempt: it has begun, and that was not recorded, or the record was lost.
        const begun = isTaken(error) ? await this.kept.find(attempt) : undefined;
        if (begun !== undefined) return begun;
        if (!(error instanceof ExecError && error.code === "LIMIT_REACHED")) throw error;
        if (pauseMs >= MAX_PAUSE_MS && others?.haveRoom() === true) throw error;
        attempt.waits(`the server has no room for another process: ${refusalOf(error)}`);
        await pause(pauseMs, signal);
        signal.throwIfAborted();
      }
    }
  }

  /** A server that cannot close stdin would let a command wait for more than its row. */
  #argvFor(item: RowItem): string[] {
    const { host, command } = this.#options;
    const argv = command.argvFor(item);
    const input = inputOf(item, this.#options);
    if (input === undefined || host.supports("process/closeStdin")) return argv;
    return argvWithInputLength(argv, Buffer.byteLength(input));
  }

  async #follow(process: RemoteProcess, attempt: RowAttempt, input: string | undefined): Promise<RowOutcome> {
    if (process.name !== undefined)
      // What remains is cleaned up when the job ends.
      attempt.afterRecord(() => process.detach({ forget: true }).catch(() => {}));
    const { signal } = attempt;
    try {
      const ended = await process.communicate(input, { signal, maxOutputBytes: MAX_OUTPUT_BYTES });
      return { ...outcomeOf(ended, this.#options.result), ...this.#facts };
    } catch (error) {
      if (!signal.aborted || this.#isLeft(attempt)) throw error;
      const exit = await knownExit(process);
      await endProcess(process, this.#options.host);
      const isLate = signal.reason instanceof ExecError && signal.reason.code === "TIMED_OUT";
      if (exit === undefined || !isLate) throw error;
      const { exitCode } = exit;
      return {
        status: "failed",
        error: `${signal.reason.message}: the command had exited${exitCode === null ? "" : ` with ${exitCode}`}, but a program that it started kept its output open; redirect the output of programs it leaves behind`,
        retry: true,
        ...(exitCode === null ? {} : { exitCode }),
        ...this.#facts,
      };
    }
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof ExecError && error.code === "ALREADY_EXISTS";
}

/** The server's message, without the command that every row has, and without the remedy. */
function refusalOf(error: ExecError): string {
  const { cause } = error;
  if (!(cause instanceof RpcError)) return error.message;
  const isKept = (cause.data as { limit?: unknown } | undefined)?.limit === "maxKeptProcesses";
  return isKept ? `${cause.message}; see 'exec-server ps'` : cause.message;
}

/** Variables that tell a command about its row. */
function environmentOf({ jobId, item, attempt }: RowAttempt): Record<string, string> {
  return {
    EXEC_SERVER_JOB_ID: jobId,
    EXEC_SERVER_ITEM_ID: item.id,
    EXEC_SERVER_ROW_INDEX: String(item.index),
    EXEC_SERVER_ATTEMPT: String(attempt),
  };
}

function inputOf({ values, json }: RowItem, { stdin }: MapWorkOptions): string | undefined {
  return stdin === "json" ? `${json ?? JSON.stringify(values)}\n` : undefined;
}

/** True for errors that the row is not to blame for: no other row could run either. */
function isOfTheHost(error: unknown): boolean {
  if (error instanceof ConnectionError || !(error instanceof ExecError)) return true;
  return ["UNSUPPORTED", "PERMISSION_DENIED", "AUDIT_FAILED", "USAGE", "PROTOCOL_ERROR"].includes(error.code);
}

/** Outcome of a row's command. */
function outcomeOf(ended: Collected, options: ResultOptions): RowOutcome {
  const { exitCode, exit } = ended;
  const code = exitCode === null ? {} : { exitCode };
  const failed = (error: string): RowOutcome => ({
    status: "failed",
    error: shorten(error, MAX_ERROR_CHARACTERS),
    retry: true,
    ...code,
  });
  if (exit.timedOut === true) return failed(`timed out after ${formatDuration(options.timeoutMs ?? 0)}`);
  if (exitCode !== 0) return failed(withLastWords(endText(ended), ended.stderr));
  const read = options.kind === "text" ? { value: withoutLastBreak(ended.stdout) } : readJson(ended);
  if ("error" in read) return failed(read.error);
  const mismatch = options.check?.(read.value);
  if (mismatch !== undefined) return failed(`its result does not fit the schema: ${mismatch}`);
  return { status: "completed", result: read.value, ...code };
}

function endText({ exitCode, exit, sandboxDenied }: Collected): string {
  const denied = sandboxDenied ? ", its sandbox denied something" : "";
  if (exit.signal !== undefined && exit.signal !== null) return `ended by ${exit.signal}${denied}`;
  return exitCode === null ? "its exit status is unknown" : `exit status ${exitCode}${denied}`;
}

function withLastWords(end: string, stderr: string): string {
  const said = stderr.trim().split("\n").at(-1) ?? "";
  return said === "" ? end : `${end}: ${said}`;
}

function withoutLastBreak(text: string): string {
  return text.endsWith("\n") ? text.slice(0, text.endsWith("\r\n") ? -2 : -1) : text;
}

function readJson({ stdout, stdoutOmittedBytes, gaps }: Collected): { value: JsonValue } | { error: string } {
  if (stdoutOmittedBytes > 0 || gaps.length > 0) return { error: "its output is too large for a result" };
  try {
    return { value: JSON.parse(stdout) as JsonValue };
  } catch (error) {
    if (stdout.trim() === "") return { error: "it printed nothing, but its result must be JSON" };
    return { error: `its output is not JSON: ${messageOf(error).split("\n")[0]}` };
  }
}
