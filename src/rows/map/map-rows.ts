import type { Host } from "../../client/host.ts";
import type { StartOptions } from "../../client/process/start-request.ts";
import { UsageError } from "../../base/errors.ts";
import type { JsonValue } from "../engine/row.ts";
import { type JobFiles, type JobOptions, type JobSummary, runFileJob } from "../job/file-job.ts";
import { checkerFor } from "../result/result-schema.ts";
import { MapWork } from "./map-work.ts";
import { RowCommand, type RowCommandOptions } from "./row-command.ts";

/** How to run a command for each row of a file. */
export interface MapRowsOptions extends JobFiles, JobOptions, RowCommandOptions {
  readonly host: Host;
  /** What the results call the host. */
  readonly hostName?: string;
  /** `json` gives each command its row as one line of JSON. Default: `none`. */
  readonly stdin?: "none" | "json";
  /**
   * What of the output becomes the result: `text`, the default, is stdout without its last line break; `json` is stdout
   * as a JSON value, and anything else fails the row.
   */
  readonly result?: "text" | "json";
  /** JSON schema for results; needs `result: "json"`. */
  readonly resultSchema?: JsonValue;
  /** Directory, variables and sandbox of the commands. */
  readonly start?: Pick<StartOptions, "cwd" | "env" | "inheritEnv" | "sandbox" | "limits" | "contain">;
}

/**
 * Runs a command for each row of a file, so many at once, and writes the results to another file. A job that was
 * interrupted is resumed: rows with a result do not run again, and commands that still run on the server are taken over.
 */
export async function mapRows(options: MapRowsOptions): Promise<JobSummary> {
  const { host, hostName, stdin = "none", result = "text", resultSchema, start = {}, timeoutMs } = options;
  if (resultSchema !== undefined && result !== "json")
    throw new UsageError("a schema checks results that are JSON; ask for them with result json");
  const command = new RowCommand(options);
  const work = new MapWork({
    host,
    hostName,
    command,
    stdin,
    start,
    timeoutMs,
    result: {
      kind: result,
      ...(resultSchema === undefined ? {} : { check: checkerFor(resultSchema) }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    },
  });
  let jobId: string | undefined;
  try {
    return await runFileJob(
      options,
      {
        run: work.run,
        takeOver: work.takeOver,
        check: (columns) => command.check(columns),
        identity: {
          command: [...options.argv],
          shell: options.shell ?? false,
          input: stdin,
          "kind of result": result,
          "result schema": resultSchema ?? null,
        },
      },
      {
        ...options,
        onStart: (job) => {
          jobId = job.jobId;
          options.onStart?.(job);
        },
      },
    );
  } finally {
    if (jobId !== undefined && host.state === "connected") await work.sweep(jobId).catch(() => {});
  }
}
