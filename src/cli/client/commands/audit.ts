import { type Command, InvalidArgumentError } from "commander";
import { formatHead } from "../../../server/audit/chain.ts";
import { type AuditVerdict, type KnownHead, verifyAudit } from "../../../server/audit/verify.ts";
import { auditParts } from "../audit/audit-parts.ts";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { endWith } from "../outcome/end-with.ts";
import { usageFailure } from "../outcome/failure.ts";
import { complain } from "../print/complain.ts";
import { print, printJson } from "../print/output.ts";
import { printable } from "../print/printable.ts";

interface VerifyOptions {
  readonly head?: KnownHead;
  readonly json?: boolean;
}

const EXAMPLES = `
Each line of an audit log has the hash of the line before it. Without --head, a log whose end was cut off, or that was
written anew as a whole, still fits: compare it with a head that was kept elsewhere, such as in the server's log.

Status: 0 if every line fits, 1 if one does not, 2 if the log cannot be read.

Examples:
  exec-server audit verify /var/log/exec-server/audit.jsonl
  exec-server audit verify audit.jsonl --head 1200:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
`;

/** Adds `audit` and its subcommand. */
export function define(program: Command): void {
  const audit = program
    .command("audit")
    .summary("check an audit log of a server")
    .description("Check an audit log that a server has written with --audit.")
    .usage("COMMAND")
    .addHelpText("after", EXAMPLES);
  const verify = audit
    .command("verify")
    .description(
      "Name the first line that was changed, removed, inserted or moved, in FILE.1, FILE.2, … and FILE.",
    )
    .argument("<file>", "the file that --audit names")
    .option("--head <HEAD>", "a head that is known from elsewhere: NUMBER:HASH, or HASH", parseHead)
    .option("--json", "print one JSON document")
    .addHelpText("after", EXAMPLES);
  verify.action(async (file: string) => {
    await endWith(await verifyFile(file, verify.opts<VerifyOptions>()));
  });
}

/** Resolves with the exit status. */
async function verifyFile(file: string, { head, json }: VerifyOptions): Promise<number> {
  let verdict: AuditVerdict;
  try {
    verdict = await verifyAudit(auditParts(file), head);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw usageFailure(`cannot read the audit log ${printable(file)}: ${describeFileError(error)}`);
  }
  const { fault } = verdict;
  if (json === true) await printJson({ fits: fault === undefined, ...verdict });
  else if (fault === undefined) await print(`${describe(verdict)}\n`);
  if (fault === undefined) return 0;
  if (json !== true) {
    const place = fault.file === undefined ? printable(file) : `${printable(fault.file)}:${fault.position}`;
    complain(`${place}: ${fault.message}`);
  }
  return 1;
}

function describe({ lines, first, head, lost, tornBytes }: AuditVerdict): string {
  if (head === undefined) return "The log is empty.";
  return [
    `Every line fits: ${lines}, from ${first} to ${head.line}.`,
    ...(first === 1 ? [] : [`Lines before ${first} are in files that are not there.`]),
    ...(lost === 0 ? [] : [`The server could not write ${lost} lines, and says where.`]),
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
  return { ...(line === undefined ? {} : { line: Number(line) }), hash: hash.toLowerCase() };
}
