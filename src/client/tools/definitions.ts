/** Parameter types of the tools. */
export type ToolParameter =
  | { readonly type: "string" | "boolean"; readonly description: string }
  | { readonly type: "number" | "integer"; readonly description: string; readonly minimum?: number }
  | { readonly type: "array"; readonly description: string; readonly items: { readonly type: "string" } }
  | {
      readonly type: "object";
      readonly description: string;
      /** Absent: the members are of any kind. */
      readonly additionalProperties?: { readonly type: "string" };
    };

/** A tool in the form of OpenAI's Responses API. */
export interface ToolDefinition {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly strict: false;
  /** A JSON schema. */
  readonly parameters: { readonly type: "object"; readonly [keyword: string]: unknown };
}

/** A tool whose arguments are checked by the schema that the model gets. */
export interface CheckedToolDefinition extends ToolDefinition {
  readonly parameters: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, ToolParameter>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
    readonly [keyword: string]: unknown;
  };
}

/** One of the two tools, in the form of OpenAI's Responses API. */
export interface ExecToolDefinition extends CheckedToolDefinition {
  readonly name: "exec_command" | "write_stdin";
}

/** A tool in the form of Anthropic's Messages API. */
export interface AnthropicToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly input_schema: ToolDefinition["parameters"];
}

const maxOutputTokens = {
  type: "integer",
  minimum: 1,
  description:
    "How much output to return, in tokens of about 4 bytes. Default 10000. Longer output is cut in the middle.",
} as const;

/** The tool that starts commands. */
export const execCommandDefinition = {
  type: "function",
  name: "exec_command",
  description:
    "Runs a command and returns its output. Returns when the command ends or when yield_time_ms is over, whichever comes first. " +
    "A command that has ended has an exit code. One that is still running continues in the background and has a session_id: " +
    "pass it to write_stdin to read more output or to send input.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      cmd: {
        type: "string",
        description: "Command line, run by a shell. Give either cmd or argv.",
      },
      argv: {
        type: "array",
        items: { type: "string" },
        description: "Program and arguments, run without a shell: nothing is expanded or quoted.",
      },
      workdir: {
        type: "string",
        description: "Directory to run in, absolute or relative to the default one.",
      },
      shell: {
        type: "string",
        description: "Shell that runs cmd. Default: the machine's shell for commands.",
      },
      login: {
        type: "boolean",
        description: "Whether the shell reads its login profile (-l). Default true.",
      },
      tty: {
        type: "boolean",
        description:
          "Whether to run in a terminal. Needed to send input with write_stdin; without it stdin is empty. Default false.",
      },
      yield_time_ms: {
        type: "number",
        description: "How long to wait for the end, in milliseconds: 250 to 30000. Default 10000.",
      },
      max_output_tokens: maxOutputTokens,
      env: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Environment variables to set, in addition to the existing ones.",
      },
    },
    required: [],
    additionalProperties: false,
  },
} as const satisfies ExecToolDefinition;

/** The tool that talks to running commands. */
export const writeStdinDefinition = {
  type: "function",
  name: "write_stdin",
  description:
    "Sends input to a running session of exec_command, or only waits for it, and returns the output since the last call. " +
    "Returns when the process ends or when yield_time_ms is over. Once it has returned an exit code, the session is gone.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      session_id: { type: "integer", description: "The session_id that exec_command returned." },
      chars: {
        type: "string",
        description:
          "Characters to send verbatim; end a line with \\n. Empty or omitted: send nothing, only read. " +
          "\\u0003 (Ctrl-C) interrupts; a session without a terminal accepts nothing else.",
      },
      yield_time_ms: {
        type: "number",
        description:
          "How long to wait, in milliseconds: 250 to 30000. Default 250 after sending, 5000 when only reading.",
      },
      max_output_tokens: maxOutputTokens,
    },
    required: ["session_id"],
    additionalProperties: false,
  },
} as const satisfies ExecToolDefinition;

/** Both tools, in the form of OpenAI's Responses API. */
export const execToolDefinitions: readonly ExecToolDefinition[] = [
  execCommandDefinition,
  writeStdinDefinition,
];

/** The tools with this default of `login`. */
export function definitionsFor({ login }: { readonly login: boolean }): readonly ExecToolDefinition[] {
  if (login) return execToolDefinitions;
  const { parameters } = execCommandDefinition;
  const description = "Whether the shell reads its login profile (-l). Default false.";
  const properties = { ...parameters.properties, login: { type: "boolean", description } } as const;
  return [{ ...execCommandDefinition, parameters: { ...parameters, properties } }, writeStdinDefinition];
}

/** The same tools in the form of Anthropic's Messages API. */
export function toAnthropicTools(
  definitions: readonly ToolDefinition[] = execToolDefinitions,
): AnthropicToolDefinition[] {
  return definitions.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: parameters,
  }));
}
