import type { ListedProcess } from "../../../protocol/process-extensions.ts";
import { formatDuration } from "../print/amounts.ts";
import type { Colors } from "../print/colors.ts";
import { table } from "../print/table.ts";
import { commandText } from "./command-text.ts";

interface TableContext {
  readonly now: number;
  readonly width: number | undefined;
  readonly colors: Colors;
}

/** Kept processes for people. */
export function keptTable(processes: readonly ListedProcess[], { now, width, colors }: TableContext): string {
  return table<ListedProcess>(
    processes,
    [
      { title: "NAME", value: nameOf },
      {
        title: "STATUS",
        value: (one) => statusText(one, now),
        style: (text, one) => painted(text, one, colors),
      },
      { title: "AGE", value: ({ startedAtMs }) => formatDuration(now - startedAtMs) },
      {
        title: "ATTACHED",
        value: ({ attached }) => (attached === undefined ? "?" : String(attached)),
        align: "right",
      },
      { title: "COMMAND", value: ({ argv }) => commandText(argv) },
    ],
    { width, titleStyle: colors.bold },
  );
}

export function nameOf({ name, processId }: ListedProcess): string {
  return name ?? processId;
}

/** `running`, or how it ended, by itself or by a signal, and how long ago. */
function statusText({ state, exitCode, signal, endedAtMs }: ListedProcess, now: number): string {
  if (state === "running") return state;
  const ago = endedAtMs === undefined ? "" : `, ${formatDuration(now - endedAtMs)} ago`;
  return `${signal === undefined ? `exited ${exitCode ?? "?"}` : signal}${ago}`;
}

function painted(text: string, { state, exitCode }: ListedProcess, colors: Colors): string {
  if (state === "running") return colors.green(text);
  return exitCode === 0 ? colors.dim(text) : colors.red(text);
}
