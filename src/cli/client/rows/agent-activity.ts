import { stripVTControlCharacters } from "node:util";
import { shorten } from "../../../base/shorten.ts";
import type { ExecToolEvent } from "../../../client/tools/events.ts";
import { parseJson } from "../../../protocol/json-scan.ts";
import type { AgentJobProgress } from "../../../rows/agents/agent-job-tool.ts";
import type { ModelToolCall } from "../../../rows/agents/model/model.ts";
import type { AgentEvent } from "../../../rows/agents/run-agent.ts";
import { drawErr, writeOut } from "../../shared/standard-streams.ts";
import { formatDuration } from "../../../base/amounts.ts";
import { colorsFor, hasColors } from "../print/colors.ts";
import { printable } from "../print/printable.ts";
import { fit } from "../print/width.ts";
import { JobProgress } from "./job-progress.ts";

/** Lines shown of a command's output between two model turns. */
const MAX_LINES = 20;
const MAX_LINE_CHARACTERS = 1_000;
/** A person should see each command in full. */
const MAX_COMMAND_CHARACTERS = 4_000;
const MIN_COLUMNS = 20;
const WITHOUT_TERMINAL = 200;
const COMMAND_TOOLS = new Set(["exec_command", "write_stdin"]);
const INDENT = "  ";

type ToolResult = Extract<AgentEvent, { readonly type: "result" }>;

/** Shows an agent's actions on stderr as they happen; its text goes to stdout if that is a terminal. */
export class AgentActivity {
  readonly #colors = colorsFor(hasColors(process.stderr));
  readonly #outputs = new Map<string, { readonly decoder: InstanceType<typeof TextDecoder>; rest: string }>();
  /** Lines that arrived while the agent did something else. */
  #waiting: string[] = [];
  #lines = 0;
  #isCommand = false;
  #progress: JobProgress | undefined;

  readonly event = (event: AgentEvent): void => {
    switch (event.type) {
      case "text":
        return say(event.text);
      case "retry":
        return this.#line(
          this.#colors.yellow(
            `${printable(event.error)}; retrying in ${formatDuration(event.delayMs + 999)}`,
          ),
        );
      case "call":
        return this.#call(event);
      case "result":
        return this.#result(event);
    }
  };

  readonly toolEvent = (event: ExecToolEvent): void => {
    if (event.type === "output_delta") this.#output(event.callId, event.bytes);
    if (event.type !== "end") return;
    this.#flush(event.callId);
    this.#outputs.delete(event.callId);
  };

  readonly progress = ({
    total_items,
    completed_items: completed,
    failed_items: failed,
    running_items: running,
  }: AgentJobProgress): void => {
    if (this.#progress === undefined) {
      this.#progress = new JobProgress();
      this.#progress.begin({ rows: total_items });
    }
    this.#progress.update({ completed, failed, running, ended: completed + failed });
  };

  end(): void {
    this.#progress?.end();
    this.#progress = undefined;
  }

  #call({ name, arguments: args }: ModelToolCall): void {
    const { bold } = this.#colors;
    const values = valuesOf(args);
    if (name === "exec_command" && typeof values["cmd"] === "string") {
      const [first = "", ...rest] = shorten(values["cmd"].trim(), MAX_COMMAND_CHARACTERS).split("\n");
      this.#line(bold(`$ ${printable(first)}`));
      for (const line of rest) this.#line(bold(`${INDENT}${printable(line)}`));
    } else {
      const texts = Object.values(values).map((value) =>
        typeof value === "string" ? value : JSON.stringify(value),
      );
      const shown = fit(printable(shorten([name, ...texts].join(" "), MAX_LINE_CHARACTERS)), this.#columns);
      this.#line(bold(shown.slice(0, name.length)) + shown.slice(name.length));
    }
    if (!COMMAND_TOOLS.has(name)) return;
    this.#isCommand = true;
    for (const line of this.#waiting.splice(0)) this.#quote(line);
  }

  #result({ name, text, isError }: ToolResult): void {
    this.end();
    if (COMMAND_TOOLS.has(name)) {
      for (const callId of this.#outputs.keys()) this.#flush(callId);
      if (this.#lines > MAX_LINES) this.#quote(`… ${this.#lines - MAX_LINES} more lines`);
      this.#isCommand = false;
      this.#lines = 0;
    }
    const [first = ""] = text.split("\n", 1);
    if (isError) this.#quote(first, this.#colors.red);
    else if (COMMAND_TOOLS.has(name)) {
      if (first !== "Exit code: 0") this.#quote(first, this.#colors.yellow);
    } else if (name === "spawn_agents_on_csv") this.#quote(jobText(text));
  }

  #output(callId: string, bytes: Uint8Array): void {
    const output = this.#outputs.get(callId) ?? { decoder: new TextDecoder(), rest: "" };
    this.#outputs.set(callId, output);
    const lines = (output.rest + output.decoder.decode(bytes, { stream: true })).split("\n");
    output.rest = shorten(lines.pop() ?? "", MAX_LINE_CHARACTERS);
    for (const line of lines) this.#outputLine(line);
  }

  #flush(callId: string): void {
    const output = this.#outputs.get(callId);
    if (output === undefined || output.rest === "") return;
    this.#outputLine(output.rest);
    output.rest = "";
  }

  #outputLine(line: string): void {
    this.#lines += 1;
    if (this.#lines > MAX_LINES) return;
    // Of a line that is redrawn again and again, only the last state.
    const states = stripVTControlCharacters(shorten(line, MAX_LINE_CHARACTERS)).split("\r");
    const shown = (states.findLast((state) => state !== "") ?? "").replaceAll("\t", "    ");
    if (this.#isCommand) this.#quote(shown);
    else this.#waiting.push(shown);
  }

  #quote(text: string, paint = this.#colors.dim): void {
    this.#line(INDENT + paint(fit(printable(text), this.#columns - INDENT.length)));
  }

  #line(text: string): void {
    drawErr(`${text}\n`);
  }

  get #columns(): number {
    const { isTTY, columns } = process.stderr;
    return isTTY ? Math.max(columns, MIN_COLUMNS) : WITHOUT_TERMINAL;
  }
}

/** Variation selectors and joiners are parts of emoji; anything else that a terminal would act on is escaped. */
function say(text: string): void {
  const shown = text.replace(/[^\ufe0f\n\t\u200d]+/g, printable);
  if (!process.stdout.isTTY) drawErr(shown);
  else writeOut(shown).catch(() => {}); // The terminal is gone, and SIGHUP follows.
}

function valuesOf(args: string): Readonly<Record<string, unknown>> {
  try {
    const values: unknown = parseJson(args).value;
    return typeof values === "object" && values !== null ? (values as Record<string, unknown>) : { args };
  } catch {
    return { args };
  }
}

/** Outcome of a job of agents, from the tool's answer. */
function jobText(text: string): string {
  const { total_items, completed_items, failed_items, output_csv_path } = valuesOf(text);
  const failed = failed_items === 0 ? "" : `, ${String(failed_items)} failed`;
  return `${String(total_items)} rows: ${String(completed_items)} completed${failed}; results: ${String(output_csv_path)}`;
}
