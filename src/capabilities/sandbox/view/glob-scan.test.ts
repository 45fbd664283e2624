import { describe, expect, it } from "vitest";
import { ScanBudget } from "./glob-scan.ts";

describe("a search for matches is refused", () => {
  it("beyond 200 000 entries", () => {
    const budget = new ScanBudget();
    budget.spend(200_000, "**/x");
    expect(() => budget.spend(1, "**/x")).toThrow("`**/x` has more than 200000 files to search");
  });

  it("after 5 s, which is checked at every thousandth entry", () => {
    const late = new ScanBudget(performance.now() - 5001);
    for (let entry = 1; entry < 1000; entry += 1) late.tick("**/x");
    expect(() => late.tick("**/x")).toThrow("`**/x` takes longer than 5000 ms to search");
  });
});
