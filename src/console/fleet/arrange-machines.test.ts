import { expect, test } from "vitest";
import { nextSorting } from "../ui/arrange-rows.ts";
import { arrangeMachines, BY_NAME, labelsOf, LARGEST_FIRST, type MachineColumn } from "./arrange-machines.ts";
import type { Machine } from "./fleet-messages.ts";

const IDLE: Machine = { id: "a", labels: {}, running: 0, free: 4, load: 0, state: "ready", since: 1 };
const FLEET: readonly Partial<Machine>[] = [
  { id: "web-10", labels: { zone: "eu" }, load: 0.2, version: "1.10.0" },
  { id: "web-2", labels: { zone: "europe" }, load: 1.5, version: "1.9.0", state: "cordoned" },
  { id: "db-1", labels: { zone: "eu", disk: "ssd" }, running: 3, since: 9, version: "1.9.0" },
];

function arrange(changed: Partial<Parameters<typeof arrangeMachines>[1]> = {}): string[] {
  const rows = FLEET.map((facts) => ({ machine: { ...IDLE, ...facts }, loads: [] }));
  return arrangeMachines(rows, { filter: "", labels: new Set(), sorting: BY_NAME, ...changed }).map(
    ({ machine }) => machine.id,
  );
}

test("names are sorted as people count, and each column in both directions", () => {
  expect(arrange()).toEqual(["db-1", "web-2", "web-10"]);
  const by = (column: MachineColumn, isDescending = false): string[] =>
    arrange({ sorting: { column, isDescending } });
  expect(by("name", true)).toEqual(["web-10", "web-2", "db-1"]);
  expect(by("load", true)).toEqual(["web-2", "web-10", "db-1"]);
  expect(by("slots", true)).toEqual(["db-1", "web-2", "web-10"]);
  expect(by("version")).toEqual(["db-1", "web-2", "web-10"]);
  expect(by("state", true)).toEqual(["web-2", "db-1", "web-10"]);
  expect(by("age")).toEqual(["db-1", "web-2", "web-10"]);
});

test("words are found anywhere, labels only as a whole", () => {
  expect(arrange({ filter: "WEB zone=eu" })).toEqual(["web-2", "web-10"]);
  expect(arrange({ labels: new Set(["zone=eu"]) })).toEqual(["db-1", "web-10"]);
  expect(arrange({ labels: new Set(["zone=eu"]), filter: "ssd" })).toEqual(["db-1"]);
  expect(arrange({ filter: "cordoned" })).toEqual(["web-2"]);
  expect(arrange({ filter: "nowhere" })).toEqual([]);
});

test("a first click shows the busiest, a second one turns the order", () => {
  const first = nextSorting<MachineColumn>("load", BY_NAME, LARGEST_FIRST);
  expect(first).toEqual({ column: "load", isDescending: true });
  expect(nextSorting("load", first, LARGEST_FIRST)).toEqual({ column: "load", isDescending: false });
  expect(nextSorting("name", first, LARGEST_FIRST)).toEqual(BY_NAME);
});

test("labels are in the order of their names", () => {
  expect(labelsOf({ labels: { zone: "eu", disk: "ssd" } })).toEqual(["disk=ssd", "zone=eu"]);
});
