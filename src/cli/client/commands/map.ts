import { type Command, Option } from "commander";
import { SANDBOX_PRESETS } from "../../../protocol/sandbox-options.ts";
import type { JobFiles } from "../../../rows/job/file-job.ts";
import { RowCommand, type RowCommandOptions } from "../../../rows/map/row-command.ts";
import { defined } from "../../shared/defined.ts";
import { repeated } from "../arguments.ts";
import { openChosenFleet } from "../fleet/chosen-machines.ts";
import { type End, setAction } from "../outcome/end-with.ts";
import { printable, shellWord } from "../print/printable.ts";
import { withJobFiles } from "../rows/job-files.ts";
import { fleetOptions, type JobFlags, jobOptions, readSchema, withJob } from "../rows/job-flags.ts";
import { runJob } from "../rows/run-job.ts";
import { showRows } from "../rows/show-rows.ts";
import { type StartFlags, startOptions } from "../running/start-options.ts";
import { openTarget } from "../target/connect-target.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { targetName } from "../target/target.ts";
import { withSecrets } from "../running/secret-flags.ts";
import { withTarget } from "../target/target-options.ts";

interface MapFlags extends JobFlags, StartFlags {
  readonly shell?: boolean;
  readonly stdin?: "none" | "json";
  readonly result?: "text" | "json";
  readonly resultSchema?: string;
}

const EXAMPLES = `
FILE is CSV with a header, or JSON Lines (*.jsonl); - is stdin, and the results then go to stdout. {name} in CMD stands for the cell of the column 'name': one argument
or a part of one, never shell text. Only a plain name is replaced: awk '{print $1}' needs no change, and {{ is a brace.

The results are the columns of FILE, plus the outcome of each row: its status, attempts, error, result, exit status,
duration and host. They are written as rows end, and put in the order of FILE at the end. With the ledger,
--resume continues after Ctrl-C, a crash or a lost server: rows with a result do not run again, and commands that
are still running on the server are taken over.

With --on, rows run on the machines of a fleet, wherever slots are free. If a machine is lost, its rows run elsewhere
as further attempts, which do not count as retries; a late result is ignored. A row that loses four machines
fails.

In the environment of a command: EXEC_SERVER_JOB_ID, EXEC_SERVER_ITEM_ID, EXEC_SERVER_ROW_INDEX, EXEC_SERVER_ATTEMPT.

Status: 0 if every row succeeded, 1 if some did not, 130 after Ctrl-C.

Examples:
  exec-server map hosts.csv -- ping -c 1 {address}
  exec-server map -j 64 --timeout 30s --retries 2 --output checked.csv urls.csv -- curl -fsS {url}
  seq 5 | sed 1i\\n | exec-server map - -- expr {n} '*' {n} | cut -d, -f1,15
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
      "Run a command for each row of a CSV or JSON Lines file, many at once, and write the results.",
    )
    .usage("[OPTIONS] FILE -- CMD [ARG...]")
    .argument("<file>", "the file with the rows, or - for stdin")
    .argument("<cmd...>", "program and its arguments, with column names in braces")
    .option("--shell", "run CMD as a line of /bin/sh; cells are quoted")
    .addOption(
      new Option("--stdin <WHAT>", "what a command can read: nothing, or its row").choices(["none", "json"]),
    )
    .addOption(new Option("--result <KIND>", "how to read stdout [default: text]").choices(["text", "json"]))
    .option("--result-schema <FILE>", "JSON schema for the results; implies --result json")
    .option("--cwd <DIR>", "working directory of the commands")
    .option("--env <K=V>", "set a variable; K alone copies yours (repeatable)", repeated)
    .addOption(new Option("--sandbox <NAME>", "confine the commands").choices(SANDBOX_PRESETS));
  withJob(withSecrets(command, "the commands")).addHelpText("after", EXAMPLES);
  setAction(withTarget(command), map);
}

/** Resolves with the exit status. */
function map(file: string, argv: readonly string[], flags: MapFlags): Promise<End> {
  return withJobFiles(file, flags, (files, known) => mapFiles(files, argv, known));
}

async function mapFiles(files: JobFiles, argv: readonly string[], flags: MapFlags): Promise<End> {
  const { mapRows } = await import("../../../rows/map/map-rows.ts");
  const options = jobOptions(flags);
  const { shell, stdin, resultSchema: schemaFile, on } = flags;
  const resultSchema = readSchema(schemaFile);
  const result = flags.result ?? (resultSchema === undefined ? undefined : "json");
  const wanted = { argv, ...defined({ shell, stdin, result, resultSchema }) };
  if (flags.dryRun === true) return await showCommands(files, wanted, flags);
  const { timeout: _timeout, ...start } = flags;
  const job = { ...files, ...options, ...wanted };
  if (on !== undefined)
    return await runJob(flags, async (watched) => {
      await using fleet = await openChosenFleet(flags, watched.signal);
      return await mapRows({
        ...job,
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
      ...job,
      ...watched,
      host,
      hostName: targetName(target),
      start: startOptions({ host, isOwn: target.kind === "own" }, start),
    });
  });
}

/** Starts nothing. */
function showCommands(files: JobFiles, options: RowCommandOptions, flags: MapFlags): Promise<number> {
  const command = new RowCommand(options);
  const check = (columns: readonly string[]) => command.check(columns);
  return showRows(files, flags, check, (item) => {
    const argv = command.argvFor(item);
    return { text: argv.map(quoted).join(" "), fields: { argv } };
  });
}

/** A word as a shell would take it. */
function quoted(word: string): string {
  const shown = printable(word);
  return shown === word ? shellWord(word) : `$'${shown.replaceAll("'", "\\'")}'`;
}
