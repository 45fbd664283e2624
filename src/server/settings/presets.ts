import type { Right } from "../../protocol/index.ts";

/** Names of the presets, from the widest on. */
export const PRESETS = ["full", "sandboxed", "files", "observe"] as const;

/**
 * A client's general rights. `full`: everything the server's own user can do. `sandboxed`: the same inside a policy.
 * `files`: the files below some roots, and no processes. `observe`: see, and change nothing.
 */
export type Preset = (typeof PRESETS)[number];

const EVERYONE: readonly Right[] = ["session", "info"];
const PROCESSES: readonly Right[] = ["start", "control", "follow"];
const FILES: readonly Right[] = ["readFiles", "writeFiles"];
const MACHINE: readonly Right[] = [...EVERYONE, ...FILES, ...PROCESSES, "settings", "discovery", "network"];

/** The rights of each preset. Those of `sandboxed` apply only inside the policy. */
export const PRESET_RIGHTS: Readonly<Record<Preset, ReadonlySet<Right>>> = {
  full: new Set([...MACHINE, "operate", "audit", "manage"]),
  sandboxed: new Set(MACHINE),
  files: new Set([...EVERYONE, ...FILES]),
  observe: new Set([...EVERYONE, "follow", "operate"]),
};
