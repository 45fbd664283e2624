import { defined } from "../../base/defined.ts";
import { ExecError } from "../../base/errors.ts";
import { toText } from "../../client/tools/tool-result.ts";
import type { Reported } from "../processes/processes.ts";
import type { ProcessRecord } from "../processes/process-record.ts";
import type { OutputSchema, ToolAnswer } from "./tool.ts";

const NOTES = {
  type: "array",
  items: { type: "string" },
  description: "Remarks that are not output, such as what the sandbox denied.",
};
const RUNNING = { type: "boolean", description: "Whether the process still runs." };
const EXIT_CODE = {
  type: "integer",
  description: "Status of a process that has ended; 128 + n if signal n ended it. Absent if it is not known.",
};
const SESSION_ID = {
  type: "integer",
  description:
    "Present while the process runs, or if part of its output was left out: pass it to write_stdin, wait_for, read_output or kill_process.",
};

/** What a call that concerns a process answers. */
export const processSchema: OutputSchema = {
  type: "object",
  properties: {
    output: {
      type: "string",
      description: "Output since the last call, both streams as they arrived.",
    },
    running: RUNNING,
    exit_code: EXIT_CODE,
    session_id: SESSION_ID,
    wall_time_seconds: { type: "number", description: "Duration of this call." },
    original_token_count: { type: "integer", description: "Size of the output before it was cut." },
    omitted_tokens: { type: "integer", description: "How much of it was left out, in the middle." },
    output_offset: {
      type: "integer",
      description:
        "If something was left out: where this output begins, or what is kept of it, for read_output.",
    },
    failure: { type: "string", description: "Why nothing more will be known about the process." },
    notes: NOTES,
  },
  required: ["output", "running", "wall_time_seconds", "original_token_count", "omitted_tokens"],
};

/** `sandbox` explains what the sandbox allows, for a command that it stopped. */
export function processAnswer({ record, result, outputOffset }: Reported, sandbox: string): ToolAnswer {
  const { sessionId, log } = record;
  const running = result.session_id !== undefined;
  const isCut = result.omitted_tokens > 0;
  const notes = result.notes.map((note) =>
    note.startsWith("The sandbox blocked") ? `${note} ${sandbox}` : note,
  );
  const from = Math.max(outputOffset, log.start);
  if (isCut)
    notes.push(
      `read_output with session_id ${sessionId} and offset ${from} returns what was left out of this output${from > outputOffset ? `; of the ${from - outputOffset} bytes before that, nothing is kept` : ""}.`,
    );
  return {
    text: toText({ ...result, notes }),
    structured: defined({
      output: result.output,
      running,
      exit_code: result.exit_code,
      session_id: running || isCut ? sessionId : undefined,
      wall_time_seconds: Math.round(result.wall_time_seconds * 1000) / 1000,
      original_token_count: result.original_token_count,
      omitted_tokens: result.omitted_tokens,
      output_offset: isCut ? from : undefined,
      failure: result.failure,
      notes: notes.length === 0 ? undefined : notes,
    }),
  };
}

/** How the first program in a sandbox says that the program of a command cannot be run. */
const CANNOT_RUN = "exec-server sandbox: cannot run ";
const ERROR_NUMBER = / \(os error \d{1,3}\)\n?$/;
const STAGE_FAILED = 101;

/** Throws an ExecError for a command whose program could not be run in its sandbox, as it is without one. */
export function checkProgram({ result }: Reported): void {
  const { output, exit_code } = result;
  if (exit_code !== STAGE_FAILED || !output.startsWith(CANNOT_RUN) || !ERROR_NUMBER.test(output)) return;
  const why = output.slice(CANNOT_RUN.length).replace(ERROR_NUMBER, "");
  throw new ExecError("NOT_FOUND", `exec_command: cannot run ${why}`);
}

export const listSchema: OutputSchema = {
  type: "object",
  properties: {
    processes: {
      type: "array",
      items: {
        type: "object",
        properties: {
          session_id: { type: "integer" },
          command: { type: "string" },
          workdir: { type: "string" },
          tty: { type: "boolean" },
          running: RUNNING,
          exit_code: EXIT_CODE,
          age_seconds: { type: "number" },
          output_bytes: { type: "integer", description: "How much it has written in all." },
          unread_bytes: { type: "integer", description: "How much of that no call has returned yet." },
        },
        required: ["session_id", "command", "tty", "running", "age_seconds", "output_bytes", "unread_bytes"],
      },
    },
  },
  required: ["processes"],
};

export function describeProcess(record: ProcessRecord, unreadBytes: number): Record<string, unknown> {
  return defined({
    session_id: record.sessionId,
    command: record.command,
    workdir: record.cwd,
    tty: record.tty,
    running: record.isRunning,
    exit_code: record.exitCode,
    age_seconds: Math.round(record.ageMs / 100) / 10,
    output_bytes: record.log.end,
    unread_bytes: unreadBytes,
  });
}
