import { runInNewContext } from "node:vm";
import { setFlagsFromString } from "node:v8";
import { expect, test } from "vitest";
import { anySignal } from "./deadlines.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("a deadline among other signals is kept until it is over", async () => {
  const aborted = new Promise<unknown>((resolve) => {
    const outer = new AbortController();
    const inner = anySignal([outer.signal, AbortSignal.timeout(300)]);
    const signal = anySignal([inner, new AbortController().signal]);
    signal.addEventListener("abort", () => resolve(signal.reason));
  });
  const collecting = setInterval(collectGarbage, 20);
  try {
    expect(await aborted).toMatchObject({ name: "TimeoutError" });
  } finally {
    clearInterval(collecting);
  }
});

test("the reason is that of the first signal", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  const signal = anySignal([first.signal, second.signal]);
  second.abort("second");
  first.abort("first");
  expect(signal.reason).toBe("second");
});
