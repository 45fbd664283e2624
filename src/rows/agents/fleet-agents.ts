import { ExecError } from "../../base/errors.ts";
import type { Host } from "../../client/host/host.ts";
import { SpawnError } from "../../client/process/spawn-error.ts";
import type { RowAttempt, RowOutcome } from "../engine/row.ts";
import { MachinePool } from "../machines/machine-pool.ts";
import type { RowsFleetOptions } from "../machines/rows-fleet.ts";
import { type AgentCommands, sandboxOf } from "./agent-work.ts";

/** A machine that takes longer to begin a command is tried again later. */
const TRIAL_MS = 30_000;

/** Gives each agent a machine of a fleet. Its commands end with the connection to that machine. */
export class FleetAgents implements AsyncDisposable {
  readonly pool: MachinePool;
  /** The machine of each attempt that runs. */
  readonly #hosts = new WeakMap<RowAttempt, Host>();

  constructor(fleet: RowsFleetOptions, commands: AgentCommands = {}) {
    this.pool = new MachinePool({ ...fleet, prepare: (_id, host) => tryCommand(host, commands) });
  }

  readonly hostOf = (attempt: RowAttempt): Host => this.#hosts.get(attempt)!;

  async run(attempt: RowAttempt, work: (attempt: RowAttempt) => Promise<RowOutcome>): Promise<RowOutcome> {
    const place = attempt.place!;
    const host = this.pool.hostAt(place);
    if (host === undefined)
      return {
        status: "lost",
        error: `${place}: it was lost before the row began`,
        host: place,
        isBegun: false,
      };
    this.#hosts.set(attempt, host);
    return await work(attempt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.close();
  }
}

/**
 * Throws if a machine lacks what every command needs, such as a sandbox or the directory: an agent would find that out at
 * the price of its tokens and fail its row, although other machines can do the work.
 */
async function tryCommand(host: Host, commands: AgentCommands): Promise<void> {
  const { cwd } = commands;
  const sandbox = sandboxOf(commands);
  const options = {
    ...(cwd === undefined ? {} : { cwd }),
    ...(sandbox === undefined ? {} : { sandbox }),
    timeoutMs: TRIAL_MS,
  };
  try {
    const { exit } = await host.run(["true"], options);
    if (exit.timedOut) throw new ExecError("TIMED_OUT", `a command takes more than ${TRIAL_MS} ms to begin`);
  } catch (error) {
    if (!isOfOneCommand(error)) throw error;
  }
}

/** A limit passes, and not every machine has this program. */
function isOfOneCommand(error: unknown): boolean {
  if (!(error instanceof SpawnError)) return false;
  return ["limit", "notFound", "notExecutable"].includes(error.reason ?? "");
}
