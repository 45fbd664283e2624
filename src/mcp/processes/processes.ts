import { ExecError } from "../../base/errors.ts";
import type { ExecCommandArgs, WriteStdinArgs } from "../../client/tools/arguments.ts";
import type { ExecToolEvent } from "../../client/tools/events.ts";
import { createExecTools } from "../../client/tools/exec-tools.ts";
import type { ExecSessionSummary, ExecTools, ExecToolsOptions } from "../../client/tools/exec-tools-api.ts";
import type { ExecToolResult } from "../../client/tools/tool-result.ts";
import { resolveWorkdir } from "../../client/tools/working-directory.ts";
import type { Place } from "../machine/workspace.ts";
import { OutputBudget } from "./output-log.ts";
import { PlacedHost } from "./placed-host.ts";
import { ProcessRecord } from "./process-record.ts";

/** Ended processes whose output can still be read. */
const MAX_ENDED = 32;
const KILL_WAIT_MS = 5_000;

export interface ProcessesOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets?: ExecToolsOptions["secrets"] | undefined;
  /** How many run at a time, or have ended without a report. */
  readonly maxRunning: number;
  /** Memory that they share with those of others. Default: each has its own. */
  readonly budget?: OutputBudget | undefined;
}

/** A process as a call reports it. */
export interface Reported {
  readonly record: ProcessRecord;
  readonly result: ExecToolResult;
  /** Position of this call's output in all of it. */
  readonly outputOffset: number;
}

/**
 * The processes of one client, numbered for as long as the client is there: also those of a machine whose connection was
 * lost for good, so that a number never means another process.
 */
export class Processes implements AsyncDisposable {
  readonly #budget: OutputBudget;
  readonly #tools: ExecTools;
  readonly #host = new PlacedHost();
  readonly #records = new Map<number, ProcessRecord>();
  readonly #byCall = new Map<string, ProcessRecord>();
  readonly #starting = new Map<string, (record: ProcessRecord) => void>();
  #lastCall = 0;

  constructor({ env = {}, secrets, maxRunning, budget = new OutputBudget() }: ProcessesOptions) {
    this.#budget = budget;
    const more = secrets === undefined ? {} : { secrets };
    this.#tools = createExecTools(this.#host, { env, maxSessions: maxRunning, ...more });
    this.#tools.onEvent((event) => this.#receive(event));
  }

  /** In the order of their numbers. */
  get all(): readonly ProcessRecord[] {
    return [...this.#records.values()];
  }

  /** `started` gets the process while the call waits for it. */
  async exec(
    args: ExecCommandArgs,
    place: Place,
    signal: AbortSignal,
    started: (record: ProcessRecord) => void,
  ): Promise<Reported> {
    this.#lastCall += 1;
    const callId = `call-${this.#lastCall}`;
    let record: ProcessRecord | undefined;
    this.#starting.set(callId, (begun) => {
      record = begun;
      started(begun);
    });
    try {
      const workdir = resolveWorkdir(args.workdir ?? "", place.cwd)!;
      const result = await this.#host.in(place, () =>
        this.#tools.exec_command({ ...args, workdir }, { signal, callId }),
      );
      return this.#report(record!, result);
    } finally {
      this.#starting.delete(callId);
    }
  }

  async write(args: WriteStdinArgs, signal: AbortSignal): Promise<Reported> {
    const record = this.#records.get(args.session_id);
    // The tools know better why there is none.
    const result = await this.#tools.write_stdin(args, { signal });
    return this.#report(record!, result);
  }

  /** Ends a process that runs, with everything that it has started. */
  async kill({ sessionId, processId }: ProcessRecord, signal: AbortSignal): Promise<Reported> {
    await this.#host.process(processId)?.kill();
    return await this.write({ session_id: sessionId, yield_time_ms: KILL_WAIT_MS }, signal);
  }

  /** What a user of the client may see of a process. */
  lastLine(sessionId: number): string {
    return this.#records.get(sessionId)?.lastLine ?? "";
  }

  find(sessionId: number): ProcessRecord {
    const record = this.#records.get(sessionId);
    if (record !== undefined) return record;
    const known = this.all.map(({ sessionId: id }) => id).join(", ");
    throw new ExecError(
      "NOT_FOUND",
      `there is no session ${sessionId}, or its output has been dropped; ${known === "" ? "there is none" : `there are ${known}`}`,
    );
  }

  /** How much of its output no call has returned yet. */
  unread(record: ProcessRecord): number {
    return this.#summary(record)?.pendingBytes ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tools.close();
    for (const { log } of this.#records.values()) log.clear();
    this.#records.clear();
  }

  #summary({ sessionId }: ProcessRecord): ExecSessionSummary | undefined {
    return this.#tools.list().find((summary) => summary.sessionId === sessionId);
  }

  #receive(event: ExecToolEvent): void {
    if (event.type === "begin") {
      const record = new ProcessRecord(event, this.#budget);
      this.#records.set(record.sessionId, record);
      this.#byCall.set(event.callId, record);
      this.#starting.get(event.callId)?.(record);
      return;
    }
    const record = this.#byCall.get(event.callId);
    record?.receive(event);
    if (event.type !== "end") return;
    this.#byCall.delete(event.callId);
    if (record !== undefined) this.#host.forget(record.processId);
    this.#forgetOld();
  }

  #report(record: ProcessRecord, result: ExecToolResult): Reported {
    if (result.session_id === undefined) record.exited(result.exit_code);
    const outputOffset = record.reportedTo;
    record.reportedTo = record.log.end - this.unread(record);
    this.#forgetOld();
    return { record, result, outputOffset };
  }

  /** Those that `write_stdin` still knows are limited by the tools. */
  #forgetOld(): void {
    const known = new Set(this.#tools.list().map(({ sessionId }) => sessionId));
    const old = this.all.filter(({ isRunning, sessionId }) => !isRunning && !known.has(sessionId));
    for (const { sessionId, log } of old.slice(0, Math.max(0, old.length - MAX_ENDED))) {
      log.clear();
      this.#records.delete(sessionId);
    }
  }
}
