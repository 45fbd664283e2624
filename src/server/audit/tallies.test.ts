import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import type { ObservedConnection } from "../observer.ts";
import { Tallies } from "./tallies.ts";

const connection = { number: 1, principal: "user:root" } as ObservedConnection;

function recorded(): { readonly tallies: Tallies; readonly lines: object[] } {
  const lines: object[] = [];
  return { tallies: new Tallies((event, facts) => lines.push({ event, ...facts })), lines };
}

it("ids as long as a message are not kept in memory", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const { tallies, lines } = recorded();
  const idBytes = 1024 * 1024;
  const count = 200;
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  // Each is a text of its own, as from a message.
  for (let index = 0; index < count; index += 1)
    tallies.add(connection, "input", ["process", Buffer.alloc(idBytes, `${index} `).toString("latin1")], 1);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan((count * idBytes) / 4);
  expect(lines).toHaveLength(count);
  tallies.close();
});

it("a long id ends like a short one", () => {
  const { tallies, lines } = recorded();
  const id = "x".repeat(100_000);
  for (const bytes of [1, 2, 3]) tallies.add(connection, "input", ["process", id], bytes);
  tallies.end(connection, ["process", id]);
  const shown = expect.stringMatching(/^x{1024}… \(100000 characters\)$/) as string;
  const who = { event: "input", connection: 1, principal: "user:root", process: shown };
  expect(lines).toEqual([
    { ...who, requests: 1, bytes: 1 },
    { ...who, requests: 2, bytes: 5 },
  ]);
});

it("what is answered after its client has left has its line, and nothing is kept for it", () => {
  const { tallies, lines } = recorded();
  tallies.add(connection, "readBlocks", ["handle", "h"], 1);
  tallies.leave(connection);
  for (const bytes of [2, 3]) tallies.add(connection, "readBlocks", ["handle", "h"], bytes);
  expect(lines).toMatchObject([{ bytes: 1 }, { bytes: 2 }, { bytes: 3 }]);
  tallies.close();
  expect(lines).toHaveLength(3);
});
