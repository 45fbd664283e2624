import { printable, printableJson } from "../print/printable.ts";

/** Which lines to show, and how. */
export interface ShownLines {
  /** A principal, or the name of a token. */
  readonly who?: string;
  readonly event?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly json?: boolean;
}

/** Members that are shown in front, or that only a check needs. */
const OTHERS: ReadonlySet<string> = new Set([
  "n",
  "prev",
  "hash",
  "time",
  "event",
  "principal",
  "connection",
]);
const EVENT_COLUMNS = 12;
const WHO_COLUMNS = 12;

/** The text for a line of an audit log; undefined if it is not to be shown. */
export function shownLine(line: string, { who, event, since, json = false }: ShownLines): string | undefined {
  const facts = parse(line);
  // What does not belong into an audit log is not hidden from somebody who looks for traces.
  if (facts === undefined)
    return [who, event, since].every((each) => each === undefined) ? `${printable(line)}\n` : undefined;
  if (who !== undefined && !isBy(facts, who)) return undefined;
  if (event !== undefined && !event.includes(plain(facts["event"]))) return undefined;
  if (since !== undefined && !(Date.parse(plain(facts["time"])) >= since)) return undefined;
  return json ? `${printable(line)}\n` : `${describe(facts)}\n`;
}

type Facts = Readonly<Record<string, unknown>>;

function parse(line: string): Facts | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Facts)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A refused or new connection has no principal, but perhaps the name of its token. */
function isBy({ principal, token }: Facts, who: string): boolean {
  return principal === who || principal === `name:${who}` || (principal === undefined && token === who);
}

function describe(facts: Facts): string {
  const { time, principal, token, event } = facts;
  const columns = [
    printable(plain(time).replace(/\.\d{3}Z$/, "Z")),
    printable(plain(principal ?? token).replace(/^name:/, "")).padEnd(WHO_COLUMNS),
    printable(plain(event)).padEnd(EVENT_COLUMNS),
    ...Object.entries(facts).flatMap(([name, value]) =>
      OTHERS.has(name) ? [] : [`${printable(name)}=${text(value)}`],
    ),
  ];
  return columns.join("  ").trimEnd();
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : "-";
}

/** As it is if that cannot be mistaken for more than one fact. */
function text(value: unknown): string {
  return typeof value === "string" && /^[^\s"=]+$/.test(value) ? printable(value) : printableJson(value);
}
