import type { ListedProcess } from "../../../protocol/process-extensions.ts";
import { formatDuration } from "../print/amounts.ts";
import type { Colors } from "../print/colors.ts";
import { table } from "../print/table.ts";
import { nameOf, ownerText } from "./kept-name.ts";

interface TableContext {
  readonly now: number;
  readonly width: number | undefined;
  readonly colors: Colors;
}

/** Kept processes for people. */
export function keptTable(processes: readonly ListedProcess[], { now, width, colors }: TableContext): string {
  // Usually there are only one's own.
  const hasSeveralOwners = new Set(processes.map(({ owner }) => owner)).size > 1;
  return table<ListedProcess>(
    processes,
    [
      { title: "NAME", value: nameOf },
      ...(hasSeveralOwners ? [{ title: "OWNER", value: ownerText }] : []),
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

const PLAIN = /^[\w@%+=:,./-]+$/;

/** A command as it could be typed in a shell. */
function commandText(argv: readonly string[]): string {
  return argv.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
