import { expect, test } from "vitest";
import { useMovedClock } from "../../../test/fixtures/moved-clock.ts";
import { ConnectionError, RpcError } from "../../base/errors.ts";
import { silentLogger } from "../../base/logger.ts";
import { RecoveryBudget } from "../link/recovery-budget.ts";
import { recover } from "./recovery.ts";

const wait = useMovedClock();
const refused = new ConnectionError("refused");

test("the first try is immediate, and others follow until one succeeds", async () => {
  const { tries, result } = start((_, number) => {
    if (number < 4) throw refused;
  });
  await wait(0);
  expect(tries).toHaveLength(1);
  await wait(5_000);
  expect([tries.length, result.value]).toEqual([4, "recovered"]);
});

test("a try that never ends, or tries that fail, end with the time of recovery", async () => {
  for (const attempt of [aborted, () => Promise.reject(refused)]) {
    const { result } = start(attempt);
    await wait(9_900);
    expect(result.value).toBeUndefined();
    await wait(200);
    expect(result.value).toBeInstanceOf(ConnectionError);
    expect(result.value).toMatchObject({ message: "cut; recovery timed out after 10s" });
  }
});

test("a session that has no time to recover is over without a try", async () => {
  const { tries, result } = start(() => {}, 0);
  await wait(0);
  expect(tries).toEqual([]);
  expect(result.value).toMatchObject({ message: "cut; recovery timed out after 0ms" });
});

test("what will not change is tried once, and says why the session has ended", async () => {
  const { tries, result } = start(() => {
    throw new RpcError(-32600, "unknown session");
  });
  await wait(5_000);
  expect(tries).toHaveLength(1);
  expect(result.value).toMatchObject({
    code: "SESSION_LOST",
    message: "cut; failed to resume exec-server session: unknown session",
  });
});

test("a session that is closed is tried no more, whatever its last try says", async () => {
  const { tries, result, closing } = start(async (signal) => {
    await aborted(signal).catch(() => {});
    throw new RpcError(-32600, "unknown session");
  });
  await wait(10);
  closing.abort();
  await wait(0);
  expect(result.value).toBe("closed");
  await wait(5_000);
  expect(tries.map(({ aborted }) => aborted)).toEqual([true]);
});

test("a session that is closed between two tries is over at once", async () => {
  const { tries, result, closing } = start(() => {
    throw refused;
  });
  await wait(0);
  closing.abort();
  await wait(0);
  expect([tries.length, result.value]).toEqual([1, "closed"]);
});

/** Rejects as soon as the signal is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** `tries` are the signals of the tries so far. */
function start(attempt: (signal: AbortSignal, number: number) => void | Promise<void>, timeoutMs = 10_000) {
  const tries: AbortSignal[] = [];
  const closing = new AbortController();
  const result: { value?: unknown } = {};
  void recover("cut", {
    budget: new RecoveryBudget(timeoutMs),
    timeoutMs,
    closing: closing.signal,
    logger: silentLogger,
    attempt: async (signal) => {
      tries.push(signal);
      await attempt(signal, tries.length);
    },
  }).then((value) => (result.value = value));
  return { tries, result, closing };
}
