import { isDeepStrictEqual } from "node:util";
import { parse, stringify } from "smol-toml";
import { Failure } from "../../outcome/failure.ts";
import type { HostEntry } from "./host-entry.ts";
import { parseHosts } from "./hosts-file.ts";

const HEADER = /^\s*\[\[\s*(?:environments|"environments"|'environments')\s*\]\]/;
/** A table inside an entry, such as `[environments.env]`, belongs to it. */
const SUBTABLE = /^\s*\[{1,2}\s*(?:environments|"environments"|'environments')\s*\./;
const ANY_HEADER = /^\s*\[/;
const BLANK_OR_COMMENT = /^\s*(?:#|$)/;

/** The text with one more host at its end. Everything else stays as it is. */
export function withHost(text: string, entry: HostEntry, path: string): string {
  const before = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const block = stringify({ environments: [entry] });
  const added = `${before}${before === "" ? "" : "\n"}${block.trimEnd()}\n`;
  const expected = [...parseHosts(text, path).entries, entry];
  return checked(added, expected, () => `cannot add to ${path} without touching the rest; do it by hand`);
}

/** The text without a host. Comments, also those above it, stay. */
export function withoutHost(text: string, name: string, path: string): string {
  const { entries, names } = parseHosts(text, path);
  const lines = text.split("\n");
  const at = names.indexOf(name);
  const expected = entries.filter((_, index) => index !== at);
  const byHand = (): string => `cannot remove ${name} from ${path} without touching the rest; do it by hand`;
  const { start, end } = linesOf(lines, at);
  return checked([...lines.slice(0, start), ...lines.slice(end)].join("\n"), expected, byHand);
}

/** The lines of an entry: from its header to the next one, without the comments above that. */
function linesOf(lines: readonly string[], index: number): { start: number; end: number } {
  const headers = lines.flatMap((line, at) => (HEADER.test(line) ? [at] : []));
  const header = headers[index] ?? lines.length;
  const after = lines.findIndex((line, at) => at > header && ANY_HEADER.test(line) && !SUBTABLE.test(line));
  let end = after < 0 ? lines.length : after;
  while (end > header + 1 && BLANK_OR_COMMENT.test(lines[end - 1]!)) end -= 1;
  // One of two empty lines that would meet.
  const isGap = lines[header - 1]?.trim() === "" && (lines[end] ?? "").trim() === "";
  return { start: isGap ? header - 1 : header, end };
}

/** Lines were searched without a parser, so the parser has the last word about the result. */
function checked(text: string, expected: readonly unknown[], otherwise: () => string): string {
  try {
    const { environments = [] } = parse(text);
    if (isDeepStrictEqual(plain(environments), plain(expected))) return text;
  } catch {} // No longer TOML.
  throw new Failure(otherwise());
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
