import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Part, partOf, planDirectory } from "./mirror-plan.ts";
import type { EntryInfo } from "./sides.ts";

const info = (kind: EntryInfo["kind"], size = 0): EntryInfo => ({ kind, size, mode: 0o644 });
const [FILE, DIRECTORY, LINK, OTHER] = (["file", "directory", "link", "other"] as const).map((kind) =>
  info(kind),
) as [EntryInfo, EntryInfo, EntryInfo, EntryInfo];
const NAMES = ["a", "b", "c", "d"];

const plan = (
  wanted: Record<string, EntryInfo>,
  seen: Record<string, EntryInfo>,
  more: { kept?: string[]; deletes?: boolean; only?: string[] } = {},
): string[] =>
  planDirectory({
    wanted: Object.entries(wanted).map(([name, info]) => ({ name, info })),
    seen: new Map(Object.entries(seen)),
    kept: new Set(more.kept),
    deletes: more.deletes ?? false,
    only: more.only === undefined ? undefined : new Set(more.only),
  }).map(
    (step) => `${step.action} ${step.name}${step.action !== "delete" && step.mustReplace ? " instead" : ""}`,
  );

describe("the plan for a directory", () => {
  it("puts what is wanted, and deletes the rest only on request", () => {
    const wanted = { a: FILE, b: DIRECTORY, c: LINK };
    expect(plan(wanted, { a: FILE, d: FILE })).toEqual(["file a", "directory b", "link c"]);
    expect(plan(wanted, { a: FILE, d: FILE, e: DIRECTORY }, { deletes: true, kept: ["e"] })).toEqual([
      "file a",
      "directory b",
      "link c",
      "delete d",
    ]);
  });

  it("clears the way where something of another kind is", () => {
    const existing = (kind: EntryInfo): Record<string, EntryInfo> => ({ a: kind });
    expect(plan({ a: FILE }, existing(DIRECTORY))).toEqual(["file a instead"]);
    expect(plan({ a: FILE }, existing(LINK))).toEqual(["file a instead"]);
    expect(plan({ a: FILE }, existing(OTHER))).toEqual(["file a instead"]);
    expect(plan({ a: LINK }, existing(FILE))).toEqual(["link a"]);
    expect(plan({ a: LINK }, existing(LINK))).toEqual(["link a"]);
    expect(plan({ a: LINK }, existing(DIRECTORY))).toEqual(["link a instead"]);
    for (const kind of [FILE, LINK, OTHER])
      expect(plan({ a: DIRECTORY }, existing(kind))).toEqual(["directory a instead"]);
    expect(plan({ a: DIRECTORY }, existing(DIRECTORY))).toEqual(["directory a"]);
  });

  it("considers only what is meant", () => {
    expect(plan({ a: FILE, b: FILE }, { c: FILE, d: FILE }, { deletes: true, only: ["b", "c"] })).toEqual([
      "file b",
      "delete c",
    ]);
  });

  it("never deletes a name that is wanted or kept, nor unless asked to", () => {
    const kinds = fc.constantFrom(FILE, DIRECTORY, LINK, OTHER);
    const entries = fc.dictionary(fc.constantFrom(...NAMES), kinds);
    const kept = fc.subarray(NAMES);
    fc.assert(
      fc.property(entries, entries, kept, fc.boolean(), (wanted, seen, kept, deletes) => {
        const deleted = plan(wanted, seen, { kept, deletes }).filter((step) => step.startsWith("delete "));
        const expected = Object.keys(seen).filter((name) => !(name in wanted) && !kept.includes(name));
        expect(deleted).toEqual(deletes ? expected.map((name) => `delete ${name}`) : []);
      }),
    );
  });
});

describe("paths below a directory", () => {
  const meant = (part: Part, path: string): boolean => {
    let current: Part | undefined = part;
    for (const name of path.split("/")) {
      if (current?.inner === undefined) return current !== undefined;
      current = current.inner.get(name);
    }
    return current !== undefined && current.inner === undefined;
  };

  it("include everything in them, whatever their order", () => {
    const path = fc
      .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 })
      .map((names) => names.join("/"));
    fc.assert(
      fc.property(fc.array(path), path, (paths, asked) => {
        const expected = paths.some((one) => asked === one || asked.startsWith(`${one}/`));
        expect(meant(partOf(paths), asked)).toBe(expected);
      }),
    );
    expect(partOf(["a/b", ""])).toEqual({});
  });
});
