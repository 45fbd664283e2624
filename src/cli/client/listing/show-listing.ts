import { formatSize } from "../../../base/amounts.ts";
import { type Colors, stdoutColors } from "../print/colors.ts";
import { terminalWidth, pad, widthOf } from "../print/width.ts";
import { printable } from "../print/printable.ts";
import { table } from "../print/table.ts";
import type { Listed } from "./list-path.ts";

const LETTERS = {
  file: "-",
  directory: "d",
  link: "l",
  pipe: "p",
  socket: "s",
  "block device": "b",
  "character device": "c",
  other: "?",
} as const;
const MARKS = { file: "", directory: "/", link: "@", other: "" } as const;
const GAP = 2;

/** Names: in columns on a terminal, otherwise one on each line. */
export function shortListing(entries: readonly Listed[]): string {
  const width = terminalWidth();
  if (width === undefined) return entries.map(({ name }) => `${name}\n`).join("");
  const colors = stdoutColors();
  const cells = entries.map((entry) => {
    const text = `${printable(entry.name)}${MARKS[entry.kind]}`;
    return { columns: widthOf(text), colored: colored(entry, text, colors) };
  });
  const cell = cells.reduce((widest, { columns }) => Math.max(widest, columns), 0) + GAP;
  const perLine = Math.max(1, Math.floor((width + GAP) / cell));
  const lines = Math.ceil(cells.length / perLine);
  let text = "";
  for (let line = 0; line < lines; line += 1) {
    // Names are read down the columns.
    for (let index = line; index < cells.length; index += lines) {
      const { colored, columns } = cells[index]!;
      text += index + lines < cells.length ? colored + " ".repeat(cell - columns) : colored;
    }
    text += "\n";
  }
  return text;
}

/** One line for each entry: mode, size, time, name. */
export function longListing(entries: readonly Listed[]): string {
  const colors = stdoutColors();
  return table<Listed>(entries, [
    { value: ({ kind, special = kind, mode }) => LETTERS[special] + permissions(mode) },
    { value: ({ size }) => (size === undefined ? "?" : formatSize(size)), align: "right" },
    { value: ({ modified }) => (modified === undefined ? "?" : localTime(modified)) },
    {
      value: ({ name, target }) => (target === undefined ? name : `${name} -> ${target}`),
      style: (text, entry) => colored(entry, text, colors),
    },
  ]);
}

function colored({ kind }: Listed, text: string, colors: Colors): string {
  if (kind === "directory") return colors.blue(text);
  return kind === "link" ? colors.cyan(text) : text;
}

/** In the format of `ls`: rwxr-xr-x. */
function permissions(mode: number | undefined): string {
  if (mode === undefined) return "?????????";
  return [6, 3, 0]
    .map((shift) => (mode >> shift) & 7)
    .map((bits) => `${bits & 4 ? "r" : "-"}${bits & 2 ? "w" : "-"}${bits & 1 ? "x" : "-"}`)
    .join("");
}

function localTime(time: Date): string {
  const two = (value: number): string => pad(String(value), 2, "right").replace(" ", "0");
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
