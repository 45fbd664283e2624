import { repeated } from "../arguments.ts";
import { targetName } from "../target/target.ts";
import { type Command, Option } from "commander";
import type { JsonValue } from "../../../rows/engine/row.ts";
import { SANDBOX_PRESETS, type SandboxPreset } from "../../../protocol/sandbox-options.ts";
import { endWith, type End } from "../outcome/end-with.ts";
import { openChosenFleet } from "../fleet/chosen-machines.ts";
import { fleetOptions, type JobFlags, jobFiles, jobOptions, withJob } from "../rows/job-flags.ts";
import { readSchema } from "../rows/read-schema.ts";
import { runJob } from "../rows/run-job.ts";
import { showCommands } from "../rows/show-commands.ts";
import { startOptions } from "../running/start-options.ts";
import { openTarget } from "../target/connect-target.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { withTarget } from "../target/target-options.ts";

interface MapFlags extends JobFlags {
  readonly shell?: boolean;
  readonly stdin?: "none" | "json";
  readonly result?: "text" | "json";
  readonly resultSchema?: string;
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly sandbox?: SandboxPreset;
}

const EXAMPLES = `
FILE is CSV with a header, or JSON lines (*.jsonl). {name} in CMD stands for the cell of the column 'name': one argument
or a part of one, never shell text. Only a plain name is replaced: awk '{print $1}' needs no change, and {{ is a brace.

The results are the columns of FILE and what became of each row: its status, attempts, error, result, exit status,
duration and host. They are written as rows end, and in the order of FILE in the end. What is recorded in the ledger
lets --resume continue after Ctrl-C, a crash or a lost server: rows with a result do not run again, and commands that
still run on the server are taken over.

With --on, rows run on the machines of a fleet, wherever slots are free. If a machine is lost, its rows run elsewhere
as further attempts, which are no retries; a result that comes too late does not count. A row that loses four machines
fails.

In the environment of a command: EXEC_SERVER_JOB_ID, EXEC_SERVER_ITEM_ID, EXEC_SERVER_ROW_INDEX, EXEC_SERVER_ATTEMPT.

Status: 0 if every row succeeded, 1 if some did not, 130 after Ctrl-C.

Examples:
  exec-server map hosts.csv -- ping -c 1 {address}
  exec-server map -j 64 --timeout 30s --retries 2 --output checked.csv urls.csv -- curl -fsS {url}
  exec-server map --shell files.csv -- 'gzip -dc {path} | wc -l'
  exec-server map --stdin json --result json --result-schema result.json rows.jsonl -- ./classify
  exec-server map --dry-run --limit 3 users.csv -- useradd -c {name} {login}
  exec-server -H prod map --on zone=eu,disk=ssd videos.csv -- transcode {file}
  exec-server map --resume hosts.csv -- ping -c 1 {address}
`;

/** Adds `map`. */
export function define(program: Command): void {
  const command = program
    .command("map")
    .summary("run a command for each row of a CSV file, many at once")
    .description(
      "Run a command for each row of a CSV file or of JSON lines, many at once, and write the results.",
    )
    .usage("[OPTIONS] FILE -- CMD [ARG...]")
    .argument("<file>", "the file with the rows")
    .argument("<cmd...>", "program and its arguments, with names of columns in braces")
    .option("--shell", "CMD is a line for /bin/sh; cells are quoted")
    .addOption(
      new Option("--stdin <WHAT>", "what a command can read: nothing, or its row").choices(["none", "json"]),
    )
    .addOption(new Option("--result <KIND>", "what stdout becomes [default: text]").choices(["text", "json"]))
    .option("--result-schema <FILE>", "JSON schema that results must fit; they are JSON then")
    .option("--cwd <DIR>", "working directory of the commands")
    .option("--env <K=V>", "set a variable; K alone takes its value from here (repeatable)", repeated)
    .addOption(new Option("--sandbox <NAME>", "confine the commands").choices(SANDBOX_PRESETS));
  withJob(command).addHelpText("after", EXAMPLES);
  withTarget(command).action(async (file: string, argv: string[]) => {
    await endWith(await map(file, argv, command.optsWithGlobals<MapFlags>()));
  });
}

/** Resolves with the exit status. */
async function map(file: string, argv: readonly string[], flags: MapFlags): Promise<End> {
  const { mapRows } = await import("../../../rows/map/map-rows.ts");
  const files = jobFiles(file, flags);
  const options = jobOptions(flags);
  const schema: JsonValue | undefined =
    flags.resultSchema === undefined ? undefined : readSchema(flags.resultSchema);
  const wanted = {
    argv,
    ...(flags.shell === undefined ? {} : { shell: flags.shell }),
    ...(flags.stdin === undefined ? {} : { stdin: flags.stdin }),
    ...(flags.result === undefined ? {} : { result: flags.result }),
    ...(schema === undefined ? {} : { resultSchema: schema, result: flags.result ?? "json" }),
  };
  if (flags.dryRun === true) return await showCommands(files, wanted, flags);
  const { timeout: _timeout, ...start } = flags;
  const { on } = flags;
  if (on !== undefined)
    return await runJob(flags, async (watched) => {
      await using fleet = await openChosenFleet(flags, watched.signal);
      return await mapRows({
        ...files,
        ...options,
        ...wanted,
        ...watched,
        ...fleetOptions(flags),
        fleet,
        start: (host) => startOptions({ host, isOwn: false }, start),
      });
    });
  const target = await resolveTarget(flags);
  return await runJob(flags, async (watched) => {
    await using host = await openTarget(target, flags, "session");
    return await mapRows({
      ...files,
      ...options,
      ...wanted,
      ...watched,
      host,
      hostName: targetName(target),
      start: startOptions({ host, isOwn: target.kind === "own" }, start),
    });
  });
}
