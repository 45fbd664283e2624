import { expect, test } from "vitest";
import type { Entry } from "./entries.ts";
import { removalText } from "./count-trees.ts";

const entry = (kind: Entry["kind"]): Entry => ({
  name: "x",
  kind,
  size: 0,
  mode: 0,
  modified: undefined,
});
const count = (files: number, directories: number, isPartial = false) => ({ files, directories, isPartial });

test.each([
  [["file"], count(0, 0), "This cannot be undone."],
  [["link"], count(0, 0), "Only the link is deleted, not its target. This cannot be undone."],
  [["directory"], count(0, 0), "The directory is empty. This cannot be undone."],
  [
    ["directory"],
    count(1234, 1),
    "The directory will be deleted with everything inside: 1,234 files in 1 directory. This cannot be undone.",
  ],
  [
    ["directory", "directory", "file"],
    count(1, 0, true),
    "2 directories will be deleted with everything inside: at least 1 file. This cannot be undone.",
  ],
] as const)("deleting %j with %j inside says so", (kinds, inside, text) => {
  expect(removalText(kinds.map(entry), inside)).toBe(text);
});
