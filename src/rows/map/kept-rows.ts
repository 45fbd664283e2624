import { settledWithin } from "../../base/deadlines.ts";
import { ExecError } from "../../base/errors.ts";
import type { Host } from "../../client/host.ts";
import type { RemoteProcess } from "../../client/process/remote-process.ts";
import type { RowAttempt } from "../engine/row.ts";

/** Timeout for the end of a killed process. */
const END_DEADLINE_MS = 5_000;

/**
 * The processes of rows, which a server keeps until their results are recorded, each under a name that only one attempt
 * has: so a run that is resumed finds what still runs, and nothing is started twice.
 */
export class KeptRows {
  readonly #host: Host;
  /** False on a server that keeps no processes, and for rows that are given input: its delivery could not be resumed. */
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

  /** Ends and forgets what is left of a job, except for attempts that are still needed. */
  async sweep(jobId: string, isNeeded: (attempt: SweptAttempt) => boolean = () => false): Promise<void> {
    if (!this.isUsed) return;
    const listed = await this.#host.processes({ scope: "kept" });
    for (const { name } of listed) {
      if (name?.startsWith(prefixOf(jobId)) !== true) continue;
      const [index, attempt] = name.slice(prefixOf(jobId).length).split(".").map(Number);
      if (isNeeded({ index: index ?? -1, attempt: attempt ?? -1 })) continue;
      await this.#end(name);
    }
  }

  /** Ends and forgets one attempt, if there is anything of it. */
  async end(attempt: RowAttempt): Promise<void> {
    if (this.isUsed) await this.#end(this.nameOf(attempt));
  }

  async #end(name: string): Promise<void> {
    const process = await this.#attach(name);
    if (process === undefined) return;
    await endProcess(process);
    await process.detach({ forget: true });
  }

  async #attach(name: string): Promise<RemoteProcess | undefined> {
    try {
      return await this.#host.attachKept(name, { mode: "control" });
    } catch (error) {
      if (error instanceof ExecError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }
}

/** An attempt of which a process is there. */
type SweptAttempt = { readonly index: number; readonly attempt: number };

function prefixOf(jobId: string): string {
  return `rows.${jobId}.`;
}

/** Kills a process, and waits for its end. */
export async function endProcess(process: RemoteProcess): Promise<void> {
  if (process.isClosed) return;
  await settledWithin(
    process.kill().then(() => process.closed),
    END_DEADLINE_MS,
  );
}
