import { abortable, pause } from "../../base/deadlines.ts";
import { ConnectionError, ExecError, RpcError } from "../../base/errors.ts";
import type { Host } from "../../client/host/host.ts";
import { knownExit } from "../../client/process/known-exit.ts";
import type { RemoteProcess } from "../../client/process/remote-process.ts";
import { argvWithInputLength, type StartOptions } from "../../client/process/start-request.ts";
import { SpawnError } from "../../client/process/spawn-error.ts";
import { RecordError } from "../engine/record-error.ts";
import type { RowAttempt, RowItem, RowOutcome } from "../engine/row.ts";
import { endProcess, KeptRows } from "./kept-rows.ts";
import type { RowCommand } from "./row-command.ts";
import { outcomeOf, type ResultOptions } from "./row-result.ts";

/** Beginning and end of each stream that are collected, together. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Pauses between attempts to start a process while the server has as many as it may have. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;

export interface MapWorkOptions {
  readonly host: Host;
  /** What the results call the host. */
  readonly hostName: string | undefined;
  readonly command: RowCommand;
  readonly stdin: "none" | "json";
  readonly result: ResultOptions;
  readonly start: StartOptions;
  readonly timeoutMs: number | undefined;
  /** What another host could do better, if there are several. */
  readonly others?: OtherHosts;
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
  readonly #kept: KeptRows;
  readonly #facts: { readonly host?: string };

  constructor(options: MapWorkOptions) {
    this.#options = options;
    this.#kept = new KeptRows(options.host, { hasInput: options.stdin === "json" });
    this.#facts = options.hostName === undefined ? {} : { host: options.hostName };
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
    const process = await this.#kept.find(attempt);
    if (process === undefined) return undefined;
    return await this.#follow(process, attempt, undefined);
  };

  /** Whether what an attempt has started is left for the run that resumes the job. */
  #isLeft({ signal }: RowAttempt): boolean {
    return this.#kept.isUsed && signal.reason instanceof RecordError;
  }

  /** Aborted when what the attempt has started must end. */
  #endOf(attempt: RowAttempt): AbortSignal {
    const { signal } = attempt;
    const end = new AbortController();
    const abort = (): void => {
      if (!this.#isLeft(attempt)) end.abort(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    return end.signal;
  }

  /** The processes that the server keeps for rows. */
  get kept(): KeptRows {
    return this.#kept;
  }

  async #start(attempt: RowAttempt): Promise<RemoteProcess> {
    const { host, start, stdin, timeoutMs, others } = this.#options;
    const { item, signal } = attempt;
    const options: StartOptions = {
      ...start,
      signal: this.#endOf(attempt),
      stdin: stdin === "json" ? "pipe" : "none",
      env: { ...start.env, ...environmentOf(attempt) },
      ...(this.#kept.isUsed ? { keep: this.#kept.nameOf(attempt) } : {}),
      // The server's time goes on when this program is killed.
      ...(timeoutMs !== undefined && host.supports("process/start.timeoutMs") ? { timeoutMs } : {}),
    };
    const argv = this.#argvFor(item);
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        const process = await abortable(host.start(argv, options), signal);
        attempt.waits(undefined);
        return process;
      } catch (error) {
        // Nobody else has the name: the attempt has begun, and that was not recorded, or is not on disk any more.
        const begun = isTaken(error) ? await this.#kept.find(attempt) : undefined;
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
      // What remains is swept when the job ends.
      attempt.afterRecord(() => process.detach({ forget: true }).catch(() => {}));
    try {
      const { signal } = attempt;
      const ended = await process.communicate(input, { signal, maxOutputBytes: MAX_OUTPUT_BYTES });
      return { ...outcomeOf(ended, this.#options.result), ...this.#facts };
    } catch (error) {
      const { signal } = attempt;
      if (!signal.aborted || this.#isLeft(attempt)) throw error;
      const exit = await knownExit(process);
      await endProcess(process, this.#options.host);
      const isLate = signal.reason instanceof ExecError && signal.reason.code === "TIMED_OUT";
      if (exit === undefined || !isLate) throw error;
      const { exitCode } = exit;
      return {
        status: "failed",
        error: `${signal.reason.message}: the command had exited${exitCode === null ? "" : ` with ${exitCode}`}, but something that it started kept its output open; redirect the output of what it leaves behind`,
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

/** What the server said, without the command that every row has, and what to do. */
function refusalOf(error: ExecError): string {
  const { cause } = error;
  if (!(cause instanceof RpcError)) return error.message;
  const isKept = (cause.data as { limit?: unknown } | undefined)?.limit === "maxKeptProcesses";
  return isKept ? `${cause.message}; see 'exec-server ps'` : cause.message;
}

/** What a command learns about its row. */
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
