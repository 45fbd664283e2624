import { InvalidArgumentError } from "commander";
import { parseDuration } from "../../shared/parse-duration.ts";
import { resolve } from "node:path";
import { stringify } from "smol-toml";
import type { SandboxPreset } from "../../../protocol/sandbox-options.ts";
import type { Preset } from "../../../server/settings/presets.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";

/** Command line options for a token's rights. */
export interface RightsFlags {
  readonly preset?: Preset;
  readonly expires?: Date;
  readonly policy?: SandboxPreset;
  readonly write?: readonly string[];
  readonly read?: readonly string[];
  readonly deny?: readonly string[];
  readonly network?: boolean;
  readonly root?: readonly string[];
  readonly readOnly?: boolean;
  readonly limit?: readonly string[];
  readonly runAs?: string;
  readonly see?: readonly string[];
  readonly control?: readonly string[];
}

/** It is harmless, and the lines show where to change it. */
const DEFAULT_PRESET: Preset = "observe";

/** The lines of a token for the token table. Whether they make sense is for the server's reader to say. */
export function tokenLines(name: string, sha256: string, flags: RightsFlags): string {
  const { preset = DEFAULT_PRESET, expires, root, readOnly, runAs, see, control } = flags;
  const policy = policyOf(flags);
  const limits = limitsOf(flags.limit);
  const lines = [
    ["name", name],
    ["sha256", [sha256]],
    ["preset", preset],
    ["roots", root?.map((path) => resolve(path))],
    ["read_only", readOnly],
    ["run_as", runAs],
    ["see", see],
    ["control", control],
  ] satisfies [string, unknown][];
  return [
    "[[token]]",
    ...lines.flatMap(([key, value]) => (value === undefined ? [] : [assignment(key, value)])),
    ...(expires === undefined ? [] : [`expires = ${expires.toISOString().slice(0, 19)}Z`]),
    ...(policy === undefined
      ? []
      : [typeof policy === "string" ? assignment("policy", policy) : inline("policy", policy)]),
    ...(limits === undefined ? [] : [inline("limits", limits)]),
    "",
  ].join("\n");
}

function policyOf({ policy, preset, ...flags }: RightsFlags): string | Record<string, unknown> | undefined {
  const { write, read, deny, network } = flags;
  const table = defined({
    write: write?.map(absolute),
    read: read?.map(absolute),
    deny: deny?.map(absolute),
    network,
  });
  const isEmpty = Object.keys(table).length === 0;
  if (policy !== undefined && !isEmpty)
    throw usageFailure(
      "--policy is a complete policy; it cannot be combined with --write, --read, --deny and --network",
    );
  if (!isEmpty) return table;
  return policy ?? (preset === "sandboxed" ? "read-only" : undefined);
}

/** Relative to this directory; a pattern too, which is only text here. */
function absolute(path: string): string {
  return path.startsWith("/") ? path : resolve(path);
}

function limitsOf(limits: readonly string[] | undefined): Record<string, number> | undefined {
  if (limits === undefined) return undefined;
  return Object.fromEntries(
    limits.map((text) => {
      const [, key, value] = /^(\w+)=(\d{1,15})$/.exec(text) ?? [];
      if (key === undefined)
        throw usageFailure(`--limit needs KEY=NUMBER, such as max_processes=50, not '${text}'`);
      return [key, Number(value)];
    }),
  );
}

function assignment(key: string, value: unknown): string {
  return stringify({ [key]: value }).trimEnd();
}

function inline(key: string, table: Readonly<Record<string, unknown>>): string {
  return `${key} = { ${Object.entries(table)
    .map(([name, value]) => assignment(name, value))
    .join(", ")} }`;
}

/** A day or a time of the calendar, in UTC unless it says otherwise. */
const MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?$/i;
const HAS_ZONE = /(?:Z|[+-]\d{2}:\d{2})$/i;
/** TOML has four digits for the year. */
const MAX_MS = Date.UTC(10_000, 0);

/** When a token ends: after a time such as `30d`, or at a moment such as `2027-01-31`. */
export function parseExpiry(text: string, now: number = Date.now()): Date {
  const ms = MOMENT.test(text)
    ? momentOf(text)
    : now + (/[a-z]$/.test(text) ? (parseDuration(text) ?? NaN) : NaN);
  if (!(ms < MAX_MS))
    throw new InvalidArgumentError("Expected a time such as 30d or 12h, or a date such as 2027-01-31.");
  if (ms <= now) throw new InvalidArgumentError("That time has passed.");
  return new Date(ms);
}

function momentOf(text: string): number {
  const day = text.slice(0, "2027-01-31".length);
  const midnight = Date.parse(day);
  // February 30 would be March 2.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return NaN;
  const isDay = !text.includes("T") && !text.includes("t");
  return Date.parse(isDay || HAS_ZONE.test(text) ? text : `${text}Z`);
}
