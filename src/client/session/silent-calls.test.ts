import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import type { Link } from "../../rpc/link.ts";
import { Calls } from "../calls/calls.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOOKS = { asked: () => {}, answered: () => {} };

/** Calls over a link whose answers are given by hand, in the order of the requests. */
function callsWith(answerTimeoutMs: number) {
  const answers: Deferred<unknown>[] = [];
  const calls = new Calls(HOOKS, answerTimeoutMs);
  const request = (): Promise<unknown> => {
    const answer = createDeferred<unknown>();
    answers.push(answer);
    return answer.promise;
  };
  calls.use({ request } as unknown as Link);
  const list = (): Promise<string> =>
    calls.request("process/list", {}).then(
      () => "answered",
      ({ message }: Error) => message,
    );
  return { calls, answers, list };
}

const LATE =
  "the server has not answered process/list within 30s; it hangs, or something on the way drops its answers";

it("gives up a call that is answered at once when no answer comes", async () => {
  const { list } = callsWith(30_000);
  const listed = list();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await listed).toBe(LATE);
});

it("waits as long as other calls are answered", async () => {
  const { answers, list } = callsWith(30_000);
  const [first, second] = [list(), list()];
  await vi.advanceTimersByTimeAsync(29_000);
  answers[0]!.resolve({ processes: [] });
  expect(await first).toBe("answered");
  await vi.advanceTimersByTimeAsync(29_000);
  answers[1]!.resolve({ processes: [] });
  expect(await second).toBe("answered");
  expect(vi.getTimerCount()).toBe(0);
});

it("waits forever for what takes its time, and without a limit", async () => {
  const { calls } = callsWith(30_000);
  const settled = vi.fn();
  calls.request("process/wait", { processId: "p" }).finally(settled).catch(settled);
  calls
    .request("process/read", { processId: "p", afterSeq: 0, maxBytes: null, waitMs: 60_000 })
    .finally(settled)
    .catch(settled);
  void callsWith(Number.POSITIVE_INFINITY).list().finally(settled);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(settled).not.toHaveBeenCalled();
});
