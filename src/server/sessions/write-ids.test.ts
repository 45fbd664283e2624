import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { WriteIds } from "./write-ids.ts";

const MIB = 1024 * 1024;

/** Without unreachable objects. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

it("the newest 4096 ids are known, and no older ones", () => {
  const ids = new WriteIds();
  for (let index = 0; index < 5000; index += 1) ids.add(`${index}`);
  expect(["903", "904", "4999", "5000"].map((id) => ids.has(id))).toEqual([false, true, true, false]);
});

it("long ids are distinguished, and take little memory", () => {
  const ids = new WriteIds();
  const long = (index: number): string => `${"x".repeat(MIB)}${index}`;
  const before = usedBytes();
  for (let index = 0; index < 200; index += 1) ids.add(long(index));
  expect(usedBytes() - before).toBeLessThan(50 * MIB);
  expect([long(0), long(199), long(200), long(0).slice(1)].map((id) => ids.has(id))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

it("ids that differ in a lone surrogate only are different", () => {
  const ids = new WriteIds();
  const filler = "x".repeat(200);
  ids.add(`${filler}\ud800`);
  expect([ids.has(`${filler}\ud800`), ids.has(`${filler}\ud801`), ids.has(`${filler}\ufffd`)]).toEqual([
    true,
    false,
    false,
  ]);
});
