import { defined } from "../../base/defined.ts";
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
      description: "If something was left out: where this output begins, for read_output.",
    },
    failure: { type: "string", description: "Why nothing more will be known about the process." },
    notes: NOTES,
  },
  required: ["output", "running", "wall_time_seconds", "original_token_count", "omitted_tokens"],
};

/** `sandbox` explains what the sandbox allows, for a command that it stopped. */
export function processAnswer({ record, result, outputOffset }: Reported, sandbox: string): ToolAnswer {
  const { sessionId } = record;
  const running = result.session_id !== undefined;
  const isCut = result.omitted_tokens > 0;
  const notes = result.notes.map((note) =>
    note.startsWith("The sandbox blocked") ? `${note} ${sandbox}` : note,
  );
  if (isCut)
    notes.push(
      `read_output with session_id ${sessionId} and offset ${outputOffset} returns what was left out of this output.`,
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
      output_offset: isCut ? outputOffset : undefined,
      failure: result.failure,
      notes: notes.length === 0 ? undefined : notes,
    }),
  };
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
