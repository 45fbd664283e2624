import { isTable, type TomlTable } from "./toml-writer.ts";

/** Each path is a list of keys. */
export type KeyPaths = readonly (readonly string[])[];

/**
 * The part of a table that the paths select, in the table's order. A path that continues below a plain value selects
 * that value.
 */
export function selectKeys(table: TomlTable, paths: KeyPaths): TomlTable {
  const wanted = new Map<string, { whole: boolean; below: string[][] }>();
  // Keys that are not there are many, and may be too long for a map.
  const known = new Set(Object.keys(table));
  for (const [key, ...rest] of paths) {
    if (key === undefined || !known.has(key)) continue;
    const entry = wanted.get(key) ?? { whole: false, below: [] };
    wanted.set(key, entry);
    if (rest.length === 0) entry.whole = true;
    else entry.below.push(rest);
  }
  const selected = Object.entries(table).flatMap(([key, value]): [string, unknown][] => {
    const entry = wanted.get(key);
    if (entry === undefined) return [];
    return [[key, entry.whole || !isTable(value) ? value : selectKeys(value, entry.below)]];
  });
  // Assignment would not work: a key may be called `__proto__`.
  return Object.fromEntries(selected);
}
