import { expect, test } from "vitest";
import { entryLines, withEntry } from "./credential-entries.ts";

const NOW = Date.UTC(2027, 0);
const entry = (offsetMs: number, environmentId = "build-1"): string =>
  entryLines({ sha256: "0".repeat(64), expiresAt: new Date(NOW + offsetMs), environmentId });

const added = entry(60_000, "new");

test("an entry is added at the end of a table", () => {
  expect(withEntry("", added, NOW)).toBe(added);
  expect(withEntry("# mine", added, NOW)).toBe(`# mine\n\n${added}`);
  expect(withEntry("# mine\n\n\n", added, NOW)).toBe(`# mine\n\n${added}`);
});

test("credentials that have expired are removed, wherever they stand", () => {
  const valid = entry(1_000);
  const table = [entry(0), "# mine\n", entry(-1_000, 'a"b'), valid, entry(-1_000)].join("\n");
  expect(withEntry(table, added, NOW)).toBe(`# mine\n\n${valid}\n${added}`);
});

test("a table of which all has expired has only the new entry", () => {
  const table = Array.from({ length: 1_000 }, () => entry(-1)).join("\n");
  expect(withEntry(table, added, NOW)).toBe(added);
});

test.each([
  ["of somebody's own", (text: string) => text.replace(/executor-\w+/, "ann")],
  ["that may do more", (text: string) => text.replace('["register"]', '["register", "connect"]')],
  ["with a comment", (text: string) => text.replace("\nmay", "\n# for ann\nmay")],
])("an expired entry %s stays", (_which, change) => {
  const table = change(entry(-1_000));
  expect(withEntry(table, added, NOW)).toBe(`${table}\n${added}`);
});
