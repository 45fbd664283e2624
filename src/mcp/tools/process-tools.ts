import { UsageError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { visibleText } from "../../base/visible-text.ts";
import { checkArguments, parseExecCommandArgs, parseWriteStdinArgs } from "../../client/tools/arguments.ts";
import { execCommandDefinition, writeStdinDefinition } from "../../client/tools/definitions.ts";
import { cutEnd, cutStart } from "../../client/process/utf8-boundary.ts";
import type { Place } from "../machine/workspace.ts";
import type { ProcessRecord } from "../processes/process-record.ts";
import type { Processes } from "../processes/processes.ts";
import { checkProgram, describeProcess, listSchema, processAnswer, processSchema } from "./process-answer.ts";
import { type McpTool, type ToolCall, toolDefinition } from "./tool.ts";

const OUTPUT_TOKENS = 10_000;
const BYTES_PER_TOKEN = 4;
const MAX_COMMAND_CHARACTERS = 200;

const session = { type: "integer", description: "The session_id that exec_command returned." } as const;

/** What tools need. */
export interface Surroundings {
  readonly processes: Processes;
  /** Connects to the machine, if necessary, and checks the roots. */
  readonly enter: (signal: AbortSignal) => Promise<Place>;
  /** What the sandbox allows, in a sentence. */
  readonly sandboxRule: () => string;
}

/** Tools that start processes and talk to them, without `wait_for`. */
export function processTools({ processes, enter, sandboxRule }: Surroundings): readonly McpTool[] {
  return [
    {
      definition: execCommandDefinition,
      annotations: {
        title: "Run a command",
        readOnlyHint: false,
        destructiveHint: true,
        openWorldHint: true,
      },
      outputSchema: processSchema,
      call: async (args, call) => {
        const requested = parseExecCommandArgs(args);
        const reported = await processes.exec(requested, await enter(call.signal), call.signal, (record) => {
          record.command = shorten(requested.cmd ?? requested.argv?.join(" ") ?? "", MAX_COMMAND_CHARACTERS);
          record.tty = requested.tty ?? false;
          call.report = () => record.lastLine;
        });
        checkProgram(reported);
        return processAnswer(reported, sandboxRule());
      },
    },
    {
      definition: writeStdinDefinition,
      annotations: {
        title: "Send input to a running command, or read its output",
        readOnlyHint: false,
        destructiveHint: true,
        openWorldHint: true,
      },
      outputSchema: processSchema,
      call: async (args, call) => {
        const requested = parseWriteStdinArgs(args);
        call.report = () => processes.lastLine(requested.session_id);
        return processAnswer(await processes.write(requested, call.signal), sandboxRule());
      },
    },
    readOutputTool(processes),
    {
      definition: listDefinition,
      annotations: { title: "List commands", readOnlyHint: true, openWorldHint: false },
      outputSchema: listSchema,
      call: (args) => {
        checkArguments(listDefinition, args);
        const listed = processes.all.map((record) => describeProcess(record, processes.unread(record)));
        const lines = processes.all.map(
          (record) => `${record.sessionId}: ${stateOf(record)}: ${visibleText(record.command)}`,
        );
        const text = lines.join("\n") || "No command has been run.";
        return Promise.resolve({ text, structured: { processes: listed } });
      },
    },
    {
      definition: killDefinition,
      annotations: {
        title: "End a running command",
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: false,
      },
      outputSchema: processSchema,
      call: async (args, { signal }: ToolCall) => {
        const { session_id } = checkArguments(killDefinition, args) as { session_id: number };
        const record = processes.find(session_id);
        if (!record.isRunning)
          throw new UsageError(
            `kill_process: session ${session_id} has ended already; read_output returns its output`,
          );
        return processAnswer(await processes.kill(record, signal), sandboxRule());
      },
    },
  ];
}

const listDefinition = toolDefinition(
  "list_processes",
  "Lists the commands that run, and those that ended recently, whose output read_output still returns.",
  {},
  [],
);

const killDefinition = toolDefinition(
  "kill_process",
  "Ends a running command, with everything that it has started, and returns its last output.",
  { session_id: session },
  ["session_id"],
);

const readOutputDefinition = toolDefinition(
  "read_output",
  "Returns any part of a command's output again, also after its end: what another call left out, or the newest part. " +
    "The newest megabyte is kept, of the 32 commands that ended last.",
  {
    session_id: session,
    offset: {
      type: "integer",
      description:
        "Where to begin, in bytes from the start of the output; a negative number counts from its end. Default 0. " +
        "next_offset of a result continues there.",
    },
    max_output_tokens: {
      type: "integer",
      minimum: 1,
      description: `How much to return, in tokens of about ${BYTES_PER_TOKEN} bytes. Default ${OUTPUT_TOKENS}.`,
    },
  },
  ["session_id"],
);

const stateOf = ({ isRunning, exitCode }: ProcessRecord): string =>
  isRunning ? "running" : `ended, exit code ${exitCode ?? "unknown"}`;

function readOutputTool(processes: Processes): McpTool {
  return {
    definition: readOutputDefinition,
    annotations: { title: "Read a command's output again", readOnlyHint: true, openWorldHint: false },
    outputSchema: {
      type: "object",
      properties: {
        output: { type: "string" },
        offset: { type: "integer", description: "Where this output begins, in bytes." },
        next_offset: { type: "integer", description: "Where it ends." },
        total_bytes: { type: "integer", description: "How much output there has been so far." },
        running: { type: "boolean" },
        exit_code: { type: "integer" },
      },
      required: ["output", "offset", "next_offset", "total_bytes", "running"],
    },
    call: (args) => {
      const requested = checkArguments(readOutputDefinition, args) as {
        session_id: number;
        offset?: number | null;
        max_output_tokens?: number | null;
      };
      const record = processes.find(requested.session_id);
      const { log } = record;
      const asked = requested.offset ?? 0;
      const maxBytes = (requested.max_output_tokens ?? OUTPUT_TOKENS) * BYTES_PER_TOKEN;
      const { bytes, from: start } = log.read(asked < 0 ? log.end + asked : asked, maxBytes);
      const skipped = cutStart(bytes, 0);
      const shown = bytes.subarray(skipped, cutEnd(bytes, bytes.length));
      const from = start + skipped;
      const output = new TextDecoder("utf-8", { ignoreBOM: true }).decode(shown);
      const next = from + shown.length;
      const structured = {
        output,
        offset: from,
        next_offset: next,
        total_bytes: log.end,
        running: record.isRunning,
        ...(record.exitCode === undefined ? {} : { exit_code: record.exitCode }),
      };
      const text = `Bytes ${from} to ${next} of ${log.end}, ${stateOf(record)}:\n${output}`;
      return Promise.resolve({ text, structured });
    },
  };
}
