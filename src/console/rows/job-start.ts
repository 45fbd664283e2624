import type { ListedProcess } from "../../client/browser.ts";

/** A job of `exec-server map` that runs as a kept process of the server, and its rows with it. */
export interface JobStart {
  /** Paths on the server's machine. */
  readonly input: string;
  readonly output: string;
  readonly command: readonly string[];
  /** Whether the command is one line for a shell. */
  readonly inShell: boolean;
  /** As they are typed; empty for the default. */
  readonly atOnce: string;
  readonly retries: string;
  readonly timeout: string;
}

/** What is done with the ledger of an earlier run. */
export type JobMode = "--force" | "--resume" | "--only-failed";

/** With a server of its own, which is confined as the process is, and ends with it. */
const BEGINNING = ["map", "--url", "stdio"];
const OPTIONS = { atOnce: "-j", retries: "--retries", timeout: "--timeout" } as const;

/** The command of a job; `program` is that of exec-server. */
export function jobArgv(program: readonly string[], job: JobStart, mode?: JobMode): string[] {
  const option = (name: keyof typeof OPTIONS): string[] =>
    job[name] === "" ? [] : [OPTIONS[name], job[name]];
  return [
    ...program,
    ...BEGINNING,
    "--output",
    job.output,
    ...option("atOnce"),
    ...option("retries"),
    ...option("timeout"),
    ...(job.inShell ? ["--shell"] : []),
    ...(mode === undefined ? [] : [mode]),
    job.input,
    "--",
    ...job.command,
  ];
}

/** The job of a process; undefined if it was not started as one. */
export function jobOf({ argv }: Pick<ListedProcess, "argv">): JobStart | undefined {
  const begin = argv.findIndex((_, at) => BEGINNING.every((word, offset) => argv[at + offset] === word));
  const end = argv.indexOf("--", begin);
  if (begin < 0 || end < 0) return undefined;
  const options = argv.slice(begin + BEGINNING.length, end - 1);
  const valueOf = (name: string): string => {
    const at = options.indexOf(name);
    return at < 0 ? "" : (options[at + 1] ?? "");
  };
  return {
    input: argv[end - 1]!,
    output: valueOf("--output"),
    command: argv.slice(end + 1),
    inShell: options.includes("--shell"),
    atOnce: valueOf(OPTIONS.atOnce),
    retries: valueOf(OPTIONS.retries),
    timeout: valueOf(OPTIONS.timeout),
  };
}

/** A job that was started in the console, with the process that runs it or has run it. */
export interface ServerJob {
  readonly listed: ListedProcess;
  readonly start: JobStart;
  readonly ledger: string;
  /** Whether the user has started it. Others choose the command of theirs, which must not run with the user's rights. */
  readonly isOwn: boolean;
}

/**
 * The jobs of the listed processes, the latest first: one for each ledger, of which no other owner's takes the place of
 * the user's.
 */
export function jobsOf(
  processes: readonly ListedProcess[],
  principal: string | undefined,
): readonly ServerJob[] {
  const jobs = new Map<string, ServerJob>();
  for (const listed of processes.toSorted((one, other) => other.startedAtMs - one.startedAtMs)) {
    const start = jobOf(listed);
    if (start === undefined || listed.name === undefined) continue;
    const ledger = ledgerOf(start);
    const isOwn = listed.owner === principal;
    const known = jobs.get(ledger);
    if (known === undefined || (isOwn && !known.isOwn)) jobs.set(ledger, { listed, start, ledger, isOwn });
  }
  return [...jobs.values()];
}

/** Where a job records its progress. */
export function ledgerOf({ output }: Pick<JobStart, "output">): string {
  return `${output}.ledger`;
}

/** Problems by field. */
export type JobFaults = { readonly [Name in keyof JobStart]?: string | undefined };

/** What `map` would refuse without a look at the file. */
export function faultsOfJob({ input, output, command, atOnce, retries, timeout }: JobStart): JobFaults {
  return {
    input: faultOfPath(input),
    output: output === input ? "Choose another file than that of the rows." : faultOfPath(output),
    command: command.join("").trim() === "" ? "Type a command." : undefined,
    atOnce: /^(?:[1-9]\d{0,5})?$/.test(atOnce) ? undefined : "Enter a number from 1.",
    retries: /^\d{0,4}$/.test(retries) ? undefined : "Enter a number from 0.",
    timeout: /^(?:\d{1,6}(?:ms|s|m|h|d))?$/.test(timeout) ? undefined : "Enter a time such as 30s, 5m or 2h.",
  };
}

function faultOfPath(path: string): string | undefined {
  return /^\/[^/]/.test(path) ? undefined : "Enter an absolute path.";
}
