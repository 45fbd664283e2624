import { resolve } from "node:path";
import { stringify } from "smol-toml";
import type { SandboxPreset } from "../../../protocol/sandbox-options.ts";
import type { Preset } from "../../../server/settings/presets.ts";
import { usageFailure } from "../outcome/failure.ts";

/** What the command line says about the rights of a token. */
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

/** It can do no harm, and the lines show where to change it. */
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
  const given = Object.entries({ write, read, deny }).flatMap(([key, paths]) =>
    paths === undefined ? [] : [[key, paths.map(absolute)] as const],
  );
  const table = Object.fromEntries<unknown>([
    ...given,
    ...(network === undefined ? [] : [["network", network] as const]),
  ]);
  const isEmpty = Object.keys(table).length === 0;
  if (policy !== undefined && !isEmpty)
    throw usageFailure(
      "--policy is a whole policy; it cannot be used with --write, --read, --deny and --network",
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
