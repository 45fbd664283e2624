import type { Host } from "../../client/host/host.ts";
import type { StartOptions } from "../../client/process/start-request.ts";
import { UsageError } from "../../base/errors.ts";
import { RecordError } from "../engine/record-error.ts";
import type { JsonValue } from "../engine/row.ts";
import {
  type JobAttempts,
  type JobFiles,
  type JobOptions,
  type JobSummary,
  type JobWork,
  runFileJob,
} from "../job/file-job.ts";
import type { RowsFleetOptions } from "../machines/rows-fleet.ts";
import { checkerFor } from "../result/result-schema.ts";
import { FleetMap, type Leftover, type MachinesSummary } from "./fleet-map.ts";
import { MapWork } from "./map-work.ts";
import { RowCommand, type RowCommandOptions } from "./row-command.ts";

/** Options for running a command for each row of a file. */
export type MapRowsOptions = MapRowsCommon & (OnHost | RowsFleetOptions);

/** A single host for all rows. */
interface OnHost {
  readonly host: Host;
  /** Name of the host in results. */
  readonly hostName?: string;
}

/** Directory, variables and sandbox of commands. */
type CommandOptions = Pick<StartOptions, "cwd" | "env" | "inheritEnv" | "sandbox" | "limits" | "contain">;

interface MapRowsCommon extends JobFiles, JobOptions, RowCommandOptions {
  /** `json` gives each command its row as one line of JSON. Default: `none`. */
  readonly stdin?: "none" | "json";
  /**
   * How the output becomes the result: `text`, the default, is stdout without its last line break; `json` is stdout as
   * a JSON value, and anything else fails the row.
   */
  readonly result?: "text" | "json";
  /** JSON schema for results; needs `result: "json"`. */
  readonly resultSchema?: JsonValue;
  /** Directory, variables and sandbox of the commands. They may depend on the machine. */
  readonly start?: CommandOptions | ((host: Host) => CommandOptions);
}

/** How a job of commands ended. */
export interface MapRowsSummary extends JobSummary {
  /** Outcome for the machines, if there were several. */
  readonly machines?: MachinesSummary;
  /** Names of kept processes of the job that could not be ended; none if absent. */
  readonly leftovers?: readonly Leftover[];
}

/** Maximum number of rows at once on a fleet, whose free slots are the real limit. */
const MAX_ON_FLEET = 1_000;

/**
 * Runs a command for each row of a file, so many at once, and writes the results to another file. A job that was
 * interrupted is resumed: rows with a result do not run again, and commands that are still running on the server are taken over.
 * On a fleet, rows run where slots are free, and elsewhere if a machine is lost.
 */
export async function mapRows(options: MapRowsOptions): Promise<MapRowsSummary> {
  const { stdin = "none", result = "text", resultSchema, start = {}, timeoutMs } = options;
  if (resultSchema !== undefined && result !== "json")
    throw new UsageError("a result schema needs JSON results; set result to json");
  const command = new RowCommand(options);
  const common = {
    command,
    stdin,
    timeoutMs,
    result: {
      kind: result,
      check: resultSchema === undefined ? undefined : checkerFor(resultSchema),
      timeoutMs,
    },
  };
  const work = {
    ...(result === "text" ? { textColumn: "stdout" } : {}),
    check: (columns: readonly string[]) => command.check(columns),
    identity: {
      command: [...options.argv],
      shell: options.shell ?? false,
      input: stdin,
      "kind of result": result,
      "result schema": resultSchema ?? null,
    },
  };
  const startOn = typeof start === "function" ? start : () => start;
  if ("fleet" in options) {
    const machines = new FleetMap(options, { ...common, start: startOn });
    return await runOnFleet(machines, options, work);
  }
  const { host, hostName } = options;
  return await runOnHost(new MapWork({ ...common, host, hostName, start: startOn(host) }), options, work);
}

/** A job's work for each row, without running it. */
type Described = Pick<JobWork, "check" | "identity" | "textColumn">;

async function runOnHost(
  work: MapWork,
  options: MapRowsCommon & OnHost,
  described: Described,
): Promise<MapRowsSummary> {
  let attempts: JobAttempts | undefined;
  const opened = (job: JobAttempts): void => {
    attempts = job;
  };
  const sweep = async (error?: unknown): Promise<readonly string[]> => {
    if (attempts === undefined || options.host.state !== "connected") return [];
    // After a failed record, attempts that may not have ended are left for the run that resumes the job.
    const isNeeded = error instanceof RecordError ? attempts.isRunning : undefined;
    return await work.kept.sweep(attempts.jobId, isNeeded).catch(() => []);
  };
  let summary: JobSummary;
  try {
    const { run, takeOver } = work;
    summary = await runFileJob(options, { ...described, run, takeOver, opened }, options);
  } catch (error) {
    await sweep(error);
    throw error;
  }
  const left = await sweep();
  return left.length === 0 ? summary : { ...summary, leftovers: left.map((name) => ({ name })) };
}

async function runOnFleet(
  machines: FleetMap,
  options: MapRowsCommon,
  described: Described,
): Promise<MapRowsSummary> {
  const { run, takeOver, pool: places } = machines;
  const opened = (attempts: JobAttempts): void => machines.opened(attempts);
  let summary: JobSummary;
  try {
    const work = { ...described, run, takeOver, places, opened };
    summary = await runFileJob(options, work, { maxConcurrency: MAX_ON_FLEET, ...options });
  } catch (error) {
    await machines.end({ leaves: error instanceof RecordError });
    throw error;
  }
  const { leftovers, ...ended } = await machines.end({ leaves: false });
  return { ...summary, machines: ended, ...(leftovers.length === 0 ? {} : { leftovers }) };
}
