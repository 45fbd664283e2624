import { describe, expect, it } from "vitest";
import { RecoveryBudget } from "./recovery-budget.ts";

/** A clock that moves only on demand. */
function clock() {
  let ms = 5_000;
  return {
    now: () => ms,
    pass: async (passed: number) => {
      ms += passed;
    },
  };
}

describe("RecoveryBudget", () => {
  it("is spent by tries and pauses, and the first try is made at once", async () => {
    const { now, pass } = clock();
    const budget = new RecoveryBudget(1_000, now, () => 1);
    expect(budget.pauseMs()).toBe(0);
    await budget.spend(1_000, () => pass(300));
    expect(budget.leftMs).toBe(700);
    expect(budget.pauseMs()).toBe(150);
    await budget.spend(700, () => pass(700));
    expect(budget.leftMs).toBe(0);
  });

  it("gets back what a connection has held, and no more than was spent", async () => {
    const { now, pass } = clock();
    const budget = new RecoveryBudget(1_000, now);
    await budget.spend(1_000, () => pass(900));
    budget.connected();
    await pass(10);
    budget.lost();
    expect(budget.leftMs).toBe(110);
    budget.connected();
    await pass(60_000);
    budget.lost();
    expect(budget.leftMs).toBe(1_000);
    expect(budget.pauseMs()).toBe(0);
  });

  it("ends after few tries when each connection dies at once", async () => {
    const { now, pass } = clock();
    const budget = new RecoveryBudget(25_000, now, () => 0);
    let tries = 0;
    while (budget.leftMs > 0) {
      tries += 1;
      const pauseMs = budget.pauseMs();
      if (pauseMs > 0) await budget.spend(pauseMs, () => pass(pauseMs));
      await budget.spend(budget.leftMs, () => pass(0));
      budget.connected();
      budget.lost();
    }
    expect(tries).toBeLessThan(60);
  });

  it("pauses for 2 s at most, and never for longer than is left", async () => {
    const { now, pass } = clock();
    const budget = new RecoveryBudget(10_000, now, () => 1);
    await budget.spend(9_000, () => pass(9_000));
    expect(budget.pauseMs()).toBe(1_000);
    expect(new RecoveryBudget(Number.POSITIVE_INFINITY, now).leftMs).toBe(Number.POSITIVE_INFINITY);
    await budget.spend(500, () => pass(0));
    expect(budget.leftMs).toBe(999);
  });

  it("does not count what a machine that slept found out too late", async () => {
    const { now, pass } = clock();
    const budget = new RecoveryBudget(20_000, now);
    await budget.spend(20_000, () => pass(3_600_000));
    expect(budget.leftMs).toBe(20_000);
  });

  it("counts also what fails", async () => {
    const { now, pass } = clock();
    const budget = new RecoveryBudget(1_000, now);
    const failing = budget.spend(1_000, async () => {
      await pass(400);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(budget.leftMs).toBe(600);
  });
});
