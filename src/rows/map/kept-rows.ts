import { settledWithin, within } from "../../base/deadlines.ts";
import { formatDuration } from "../../base/duration.ts";
import { ExecError } from "../../base/errors.ts";
import type { Host } from "../../client/host/host.ts";
import type { RemoteProcess } from "../../client/process/remote-process.ts";
import type { RowAttempt } from "../engine/row.ts";

/** Timeout for the end of a killed process, and of all that are swept together. */
const END_DEADLINE_MS = 5_000;
/** Processes that are ended at the same time: half of the requests that a session may have. */
const MAX_SWEPT_TOGETHER = 512;

/**
 * The processes of rows, which a server keeps until their results are recorded, each under a name that only one attempt
 * has: so a run that is resumed finds what still runs, and nothing is started twice.
 */
export class KeptRows {
  readonly #host: Host;
  /** False on a server that cannot keep processes, and for rows with input: its delivery could not be resumed. */
  readonly isUsed: boolean;

  constructor(host: Host, { hasInput }: { readonly hasInput: boolean }) {
    this.#host = host;
    this.isUsed =
      !hasInput && ["process/start.keep", "process/detach.forget"].every((name) => host.supports(name));
  }

  nameOf({ jobId, item, attempt }: Pick<RowAttempt, "jobId" | "item" | "attempt">): string {
    return `${prefixOf(jobId)}${item.index}.${attempt}`;
  }

  /** The process of an attempt, running or ended; undefined if the server does not have it. */
  async find(attempt: RowAttempt): Promise<RemoteProcess | undefined> {
    if (!this.isUsed) return undefined;
    return await this.#attach(this.nameOf(attempt));
  }

  /**
   * Ends and forgets what is left of a job, except for attempts that are still needed. Resolves with the names of what
   * is still there when time runs out.
   */
  async sweep(
    jobId: string,
    isNeeded: (attempt: SweptAttempt) => boolean = () => false,
  ): Promise<readonly string[]> {
    if (!this.isUsed) return [];
    const until = performance.now() + END_DEADLINE_MS;
    const listed = await within(this.#host.processes({ scope: "kept" }), END_DEADLINE_MS, noAnswer);
    const left = new Set<string>();
    for (const { name } of listed) {
      const attempt = name === undefined ? undefined : attemptOf(name, jobId);
      if (attempt !== undefined && !isNeeded(attempt)) left.add(name!);
    }
    const end = async (name: string): Promise<void> => {
      if (await this.#end(name, until - performance.now())) left.delete(name);
    };
    const names = [...left];
    for (let at = 0; at < names.length; at += MAX_SWEPT_TOGETHER)
      await settledWithin(
        Promise.allSettled(names.slice(at, at + MAX_SWEPT_TOGETHER).map(end)),
        Math.max(0, until - performance.now()),
      );
    return [...left];
  }

  /** Ends and forgets one attempt, if there is anything of it. */
  async end(attempt: RowAttempt): Promise<void> {
    if (this.isUsed) await this.#end(this.nameOf(attempt), END_DEADLINE_MS);
  }

  /** False if the process has not ended in time. */
  async #end(name: string, timeoutMs: number): Promise<boolean> {
    // Its output no longer matters.
    const process = await this.#attach(name, { fromSeq: Number.MAX_SAFE_INTEGER });
    if (process === undefined) return true;
    await endNow(process, this.#host);
    const { closed } = await this.#host.request("process/wait", {
      processId: process.id,
      until: "closed",
      timeoutMs: Math.max(0, Math.ceil(timeoutMs)),
    });
    await process.detach({ forget: true });
    return closed;
  }

  async #attach(name: string, options: { fromSeq?: number } = {}): Promise<RemoteProcess | undefined> {
    try {
      return await this.#host.attachKept(name, { mode: "control", ...options });
    } catch (error) {
      if (error instanceof ExecError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }
}

/** An attempt whose process exists. */
export type SweptAttempt = { readonly index: number; readonly attempt: number };

function prefixOf(jobId: string): string {
  return `rows.${jobId}.`;
}

/** The attempt whose process has this name; undefined if it is not one of the job. */
function attemptOf(name: string, jobId: string): SweptAttempt | undefined {
  if (!name.startsWith(prefixOf(jobId))) return undefined;
  const [index, attempt] = name.slice(prefixOf(jobId).length).split(".").map(Number);
  return { index: index ?? -1, attempt: attempt ?? -1 };
}

function noAnswer(): ExecError {
  return new ExecError("TIMED_OUT", `the server did not answer within ${formatDuration(END_DEADLINE_MS)}`);
}

/** Kills a process with everything that it has started, and waits for its end. */
export async function endProcess(process: RemoteProcess, host: Host): Promise<void> {
  if (process.isClosed) return;
  await settledWithin(
    endNow(process, host).then(() => process.closed),
    END_DEADLINE_MS,
  );
}

/** Also ends what holds the output of a process that has exited, if the server can. */
async function endNow(process: RemoteProcess, host: Host): Promise<void> {
  await (host.supports("process/terminate.mode") ? process.terminate({ timeoutMs: 0 }) : process.kill());
}
