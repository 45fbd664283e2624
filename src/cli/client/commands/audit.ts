import { type Command, InvalidArgumentError } from "commander";
import { formatHead } from "../../../server/audit/chain.ts";
import { type AuditVerdict, type KnownHead, verifyAudit } from "../../../server/audit/verify.ts";
import { auditLines, CAUGHT_UP } from "../auditing/audit-lines.ts";
import { auditParts } from "../auditing/audit-parts.ts";
import { type ShownLines, shownLine } from "../auditing/shown-line.ts";
import { parseNumber, repeated } from "../arguments.ts";
import { parseDuration } from "../../shared/parse-duration.ts";
import { counted } from "../../../base/amounts.ts";
import { defined } from "../../shared/defined.ts";
import { describeFileError, usageFailure } from "../../shared/failure.ts";
import { setAction } from "../outcome/end-with.ts";
import { complain } from "../print/complain.ts";
import { print, printJson } from "../../shared/standard-streams.ts";

interface VerifyOptions {
  readonly head?: KnownHead;
  readonly json?: boolean;
}

const EXAMPLES = `
Each line of an audit log contains the hash of the line before it. Without --head, a log that was truncated, or
rewritten as a whole, still verifies: compare it with a head stored elsewhere, such as in the server's log.

Status: 0 if the log is intact, 1 if it is not, 2 if it cannot be read.

Examples:
  exec-server audit verify /var/log/exec-server/audit.jsonl
  exec-server audit verify audit.jsonl --head 1200:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
`;

/** Adds `audit` and its subcommands. */
export function define(program: Command): void {
  const audit = program
    .command("audit")
    .summary("show or verify a server's audit log")
    .description("Show or verify an audit log that a server has written with --audit.")
    .usage("COMMAND")
    .addHelpText("after", SHOW_EXAMPLES);
  const show = audit
    .command("show")
    .description("Print an audit log, the files before it first.")
    .argument("<file>", "the file that --audit names");
  setAction(withFilter(show).addHelpText("after", SHOW_EXAMPLES), showLog);
  const tail = audit
    .command("tail")
    .description("Print the last lines of an audit log.")
    .argument("<file>", "the file that --audit names")
    .option("-n, --lines <N>", "how many lines to begin with [default: 10]", parseNumber)
    .option("-f, --follow", "go on printing lines as the server writes them");
  setAction(withFilter(tail).addHelpText("after", SHOW_EXAMPLES), tailLog);
  const verify = audit
    .command("verify")
    .description(
      "Report the first line that was changed, removed, inserted or moved, in FILE.1, FILE.2, … and FILE.",
    )
    .argument("<file>", "the file that --audit names")
    .option("--head <HEAD>", "a head that you noted elsewhere: NUMBER:HASH, or HASH", parseHead)
    .option("--json", "print one JSON document")
    .addHelpText("after", EXAMPLES);
  setAction(verify, verifyFile);
}

interface TailOptions extends ShownLines {
  readonly lines?: number;
  readonly follow?: boolean;
}

const DEFAULT_LINES = 10;

const SHOW_EXAMPLES = `
A line is shown as its time in UTC, who did it, what happened and the facts. --who takes the name of a token, or a
principal as the log has it. The hashes of the lines are not checked; 'audit verify' does that.

Examples:
  exec-server audit show audit.jsonl --who ann --since 2h
  exec-server audit show audit.jsonl --event start --event ended --json
  exec-server audit tail -f audit.jsonl
`;

/** Adds the options that select lines. */
function withFilter(command: Command): Command {
  return command
    .option("--who <NAME>", "only what this client did")
    .option("--event <NAME>", "only this event: start, denied… (repeatable)", repeated)
    .option("--since <TIME>", "only later lines: 30m, 2h, 2026-11-16, 2026-11-16T13:41", parseTime)
    .option("--json", "print lines as they are in the log");
}

/** A time in milliseconds: so long ago, or a date as ISO 8601 has it, in UTC. */
function parseTime(text: string): number {
  const ago = /^[\d.]+(?:ms|s|m|h|d)$/.test(text) ? parseDuration(text) : undefined;
  if (ago !== undefined) return Date.now() - ago;
  const isDate = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?$/.test(text);
  const time = isDate ? Date.parse(text.includes("T") && !text.endsWith("Z") ? `${text}Z` : text) : NaN;
  if (!Number.isNaN(time)) return time;
  throw new InvalidArgumentError("Expected a time such as 30m, 2h, 2026-11-16 or 2026-11-16T13:41 (UTC).");
}

async function showLog(file: string, options: ShownLines): Promise<void> {
  await readLog(file, async () => {
    for await (const line of auditLines(file))
      if (line !== CAUGHT_UP) await print(shownLine(line, options) ?? "");
  });
}

async function tailLog(
  file: string,
  { lines = DEFAULT_LINES, follow, ...options }: TailOptions,
): Promise<void> {
  const last: string[] = [];
  let isCaughtUp = false;
  await readLog(file, async () => {
    for await (const line of auditLines(file, defined({ follow }))) {
      const shown = line === CAUGHT_UP ? undefined : shownLine(line, options);
      if (shown !== undefined) last.push(shown);
      if (last.length > lines && !isCaughtUp) last.shift();
      isCaughtUp ||= line === CAUGHT_UP;
      if (isCaughtUp) await print(last.splice(0).join(""));
    }
  });
}

/** A file that cannot be read is one line. */
async function readLog<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw usageFailure(`cannot read the audit log ${file}: ${describeFileError(error)}`);
  }
}

/** Resolves with the exit status. */
async function verifyFile(file: string, { head, json }: VerifyOptions): Promise<number> {
  const verdict = await readLog(file, () => verifyAudit(auditParts(file), head));
  const { fault } = verdict;
  if (json === true) await printJson({ fits: fault === undefined, ...verdict });
  else if (fault === undefined) await print(`${describe(verdict)}\n`);
  if (fault === undefined) return 0;
  if (json !== true) {
    const where = fault.file === undefined ? file : `${fault.file}:${fault.position}`;
    complain(`${where}: ${fault.message}`);
  }
  return 1;
}

function describe({ lines, first, head, lost, tornBytes }: AuditVerdict): string {
  if (head === undefined) return "The log is empty.";
  return [
    `The log is intact: ${counted(lines, "line")}, from ${first} to ${head.line}.`,
    ...(first === 1 ? [] : [`Lines before ${first} are in files that are missing.`]),
    ...(lost === 0 ? [] : [`The server could not write ${lost} lines; the log notes where.`]),
    ...(tornBytes === undefined
      ? []
      : [`The last ${tornBytes} bytes are not a complete line: the server is still writing it, or crashed.`]),
    `Head: ${formatHead(head)}`,
  ].join("\n");
}

function parseHead(text: string): KnownHead {
  const [, line, hash] = /^(?:([1-9][0-9]{0,14}):)?([0-9a-f]{64})$/i.exec(text) ?? [];
  if (hash === undefined)
    throw new InvalidArgumentError("Expected NUMBER:HASH or HASH, with 64 hexadecimal digits.");
  return defined({ line: line === undefined ? undefined : Number(line), hash: hash.toLowerCase() });
}
