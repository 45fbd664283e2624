import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { Exposition } from "../../src/server/metrics/exposition.ts";
import { ServerMetrics } from "../../src/server/metrics/server-metrics.ts";

const DASHBOARD = fileURLToPath(new URL("../../deploy/grafana/exec-server.json", import.meta.url));
const PAGE = fileURLToPath(new URL("../../docs/guide/metrics.md", import.meta.url));

/** Names of all families that a server exposes. */
async function families(): Promise<Set<string>> {
  const state = {
    connections: 0,
    sessions: 0,
    runningProcesses: 0,
    bufferedBytes: 0,
    isDraining: false,
    isCordoned: false,
    limits: { max_buffered_bytes: 1 },
  };
  const head = { line: 1, hash: "a".repeat(64) };
  const audit = { head, printedHead: head, lost: 0, isFailing: false };
  const text = await new Exposition(new ServerMetrics(), () => state, audit).text();
  return new Set(Array.from(text.matchAll(/^# TYPE (\S+) /gm), ([, name]) => name!));
}

const familyOf = (name: string): string => name.replace(/_(?:total|bucket|sum|count)$/, "");
const namesIn = (text: string): string[] => [
  ...new Set(text.match(/\b(?:exec_server|nodejs|process)_[a-z0-9_]+/g)),
];

it("every series of the dashboard exists", async () => {
  const known = await families();
  const queries = (await readFile(DASHBOARD, "utf8")).match(/"expr": .*/g) ?? [];
  expect(queries.length).toBeGreaterThan(12);
  const unknown = namesIn(queries.join("\n")).filter(
    (name) => !known.has(name) && !known.has(familyOf(name)),
  );
  expect(unknown).toEqual([]);
});

it("the page lists every series of the server, and no others", async () => {
  const known = [...(await families())].filter((name) => name.startsWith("exec_server_"));
  const listed = namesIn(await readFile(PAGE, "utf8")).filter((name) => name.startsWith("exec_server_"));
  expect(new Set(listed.map(familyOf).filter((name) => name !== "exec_server_"))).toEqual(new Set(known));
});
