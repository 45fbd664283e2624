import { expect, it } from "vitest";
import { sharedCalls } from "./shared-calls.ts";

it("a thousand questions at once are answered by two calls, and no answer is older than its question", async () => {
  let calls = 0;
  let fact = "old";
  const ask = sharedCalls(async () => {
    calls += 1;
    const seen = fact;
    await new Promise(setImmediate);
    return seen;
  });
  const first = ask();
  fact = "new";
  const others = Array.from({ length: 999 }, () => ask());
  expect(await first).toBe("old");
  expect(new Set(await Promise.all(others))).toEqual(new Set(["new"]));
  expect(calls).toBe(2);
  fact = "newer";
  expect(await ask()).toBe("newer");
  expect(calls).toBe(3);
});

it("a failed call fails for those who share it, and not for those after", async () => {
  let calls = 0;
  const ask = sharedCalls(async () => {
    calls += 1;
    await new Promise(setImmediate);
    if (calls < 3) throw new Error(`call ${calls}`);
    return calls;
  });
  const [first, second, third] = [ask(), ask(), ask()];
  await expect(first).rejects.toThrow("call 1");
  await expect(second).rejects.toThrow("call 2");
  await expect(third).rejects.toThrow("call 2");
  expect(await ask()).toBe(3);
});
