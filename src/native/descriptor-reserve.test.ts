import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DescriptorReserve } from "./descriptor-reserve.ts";

const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

/** Fails for lack of a descriptor until that many are released: others take some of them. */
function hungry(needed: number): () => number {
  let tries = 0;
  return () => {
    tries += 1;
    if (tries > needed) return tries;
    throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
  };
}

describe("DescriptorReserve", () => {
  it("gives up one after another until the work is done, and keeps as many as before", () => {
    const reserve = new DescriptorReserve();
    expect(reserve.fill(3)).toBe(true);
    const kept = openDescriptors();
    for (const needed of [0, 1, 2, 3]) {
      expect(reserve.lend(hungry(needed))).toBe(needed + 1);
      expect(openDescriptors()).toBe(kept);
    }
  });

  it("fails like the work when all are gone, and is whole again", () => {
    const reserve = new DescriptorReserve();
    reserve.fill(3);
    const kept = openDescriptors();
    expect(() => reserve.lend(hungry(4))).toThrow("too many open files");
    expect(openDescriptors()).toBe(kept);
  });

  it("gives up nothing for another failure", () => {
    const reserve = new DescriptorReserve();
    reserve.fill(3);
    let tries = 0;
    const missing = (): never => {
      tries += 1;
      throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    };
    expect(() => reserve.lend(missing)).toThrow("no such file");
    expect(tries).toBe(1);
  });
});
