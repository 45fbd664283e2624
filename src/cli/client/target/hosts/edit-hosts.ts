import { isDeepStrictEqual } from "node:util";
import { parse, stringify } from "smol-toml";
import { Failure } from "../../../shared/failure.ts";
import { parseToml } from "../../../shared/parse-toml.ts";
import { linesOfTable, type TableInText, withoutTable } from "../../toml-tables.ts";
import type { FleetEntry } from "./fleet-entry.ts";
import type { HostEntry } from "./host-entry.ts";

const BY_HAND = "do it with 'exec-server host edit'";

/** Contents of hosts.toml. */
interface Contents {
  readonly [key: string]: unknown;
  readonly environments?: readonly HostEntry[];
  readonly fleets?: Readonly<Record<string, FleetEntry>>;
}

const HOSTS = { header: "[[environments]]", inside: ["[environments.", "[[environments."] };
const fleetTable = (name: string): TableInText => ({
  header: `[fleets.${name}]`,
  index: 0,
  inside: [`[fleets.${name}.`],
});

/** The text with another host at its end, otherwise unchanged. */
export function withHost(text: string, entry: HostEntry, path: string): string {
  const before = contentsOf(text, path);
  const expected = { ...before, environments: [...(before.environments ?? []), entry] };
  return checked(`${text}${blockAfter(text, { environments: [entry] })}`, expected, `add to ${path}`);
}

/** The text with another fleet at its end, otherwise unchanged. */
export function withFleet(text: string, name: string, entry: FleetEntry, path: string): string {
  const before = contentsOf(text, path);
  const expected = { ...before, fleets: { ...before.fleets, [name]: entry } };
  return checked(`${text}${blockAfter(text, { fleets: { [name]: entry } })}`, expected, `add to ${path}`);
}

/** The text with other values for some keys of a host, otherwise unchanged. */
export function withChangedHost(text: string, changed: HostEntry, path: string): string {
  const contents = contentsOf(text, path);
  const { environments = [] } = contents;
  const index = environments.findIndex(({ id }) => id === changed.id);
  const lines = text.split("\n");
  for (const [key, value] of Object.entries(changed)) {
    if (isDeepStrictEqual(value, environments[index]?.[key as keyof HostEntry])) continue;
    const { header, end } = linesOfTable(lines, { ...HOSTS, index });
    const line = stringify({ [key]: value }).trimEnd();
    const own = lines.findIndex((each, at) => at > header && at < end && isKey(each, key));
    if (own < 0) lines.splice(header + 1, 0, line);
    else lines[own] = line;
  }
  const expected = { ...contents, environments: environments.with(index, changed) };
  return checked(lines.join("\n"), expected, `change ${changed.id} in ${path}`);
}

function isKey(line: string, key: string): boolean {
  return line.split("=", 1)[0]!.replaceAll(/[\s"']/g, "") === key;
}

/** The text without a host. Comments, also those above it, stay. */
export function withoutHost(text: string, name: string, path: string): string {
  const { environments = [], ...rest } = contentsOf(text, path);
  const index = environments.findIndex((entry) => entry?.id === name);
  const others = environments.filter((_, at) => at !== index);
  const expected = others.length === 0 ? rest : { ...rest, environments: others };
  return checked(withoutTable(text, { ...HOSTS, index }), expected, `remove ${name} from ${path}`);
}

/** The text without a fleet. Comments, also those above it, stay. */
export function withoutFleet(text: string, name: string, path: string): string {
  const { fleets = {}, ...rest } = contentsOf(text, path);
  const { [name]: _removed, ...others } = fleets;
  const expected = Object.keys(others).length === 0 ? rest : { ...rest, fleets: others };
  return checked(withoutTable(text, fleetTable(name)), expected, `remove ${name} from ${path}`);
}

function contentsOf(text: string, path: string): Contents {
  return parseToml(path, text);
}

function blockAfter(text: string, block: object): string {
  const gap = text === "" ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  return `${gap}${stringify(block).trim()}\n`;
}

/** Lines were searched without a parser, so the parser has the last word about the result. */
function checked(text: string, expected: Contents, what: string): string {
  try {
    if (isDeepStrictEqual(plain(parse(text)), plain(expected))) return text;
  } catch {} // No longer TOML.
  throw new Failure(`cannot ${what} without touching the rest; ${BY_HAND}`);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
