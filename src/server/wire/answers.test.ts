import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { RpcError } from "../../base/errors.ts";
import { silentLogger } from "../../base/logger.ts";
import { DeferredAnswer, LazyAnswer } from "../../rpc/deferred-answer.ts";
import { Answers } from "./answers.ts";
import type { ConnectionBudget } from "./byte-budget.ts";
import type { Peer } from "./peer.ts";
import type { RequestIntake } from "./request-intake.ts";

const HIGH_WATER_BYTES = 1024 * 1024;
const AT_ONCE = { lazily: false };
const LAZILY = { lazily: true };
const INTERNAL = { code: -32603, message: "m: internal error" };

function create() {
  const [sent, faults]: [unknown[], unknown[]] = [[], []];
  const counts = { answered: 0, queueChanged: 0 };
  const peer = {
    ended: false,
    queuedBytes: 0,
    respond: (id: string, result: unknown, options: object) => void sent.push([id, result, options]),
    fail: (id: string, error: object) => void sent.push([id, error]),
  };
  const answers = new Answers(peer as Partial<Peer> as Peer, {
    budget: {
      queueChanged: () => void (counts.queueChanged += 1),
    } as Partial<ConnectionBudget> as ConnectionBudget,
    intake: { answered: () => void (counts.answered += 1) } as Partial<RequestIntake> as RequestIntake,
    logger: { ...silentLogger, error: (message, fields) => void faults.push([message, fields?.["method"]]) },
  });
  const settle = (id: string, result: unknown) => answers.settle(id, "m", result, undefined);
  const later = (make: () => unknown) => new DeferredAnswer(Promise.resolve(new LazyAnswer(make)));
  return { answers, peer, sent, faults, counts, settle, later };
}

it("a value is sent at once, and what is promised when it is there, before later requests run", async () => {
  const { answers, sent, settle, counts } = create();
  expect(settle("1", "value")).toBeUndefined();
  await settle("2", Promise.resolve("promised"));
  await settle("3", Promise.reject(new RpcError(-32000, "no")));
  expect(sent).toEqual([
    ["1", "value", AT_ONCE],
    ["2", "promised", AT_ONCE],
    ["3", { code: -32000, message: "no" }],
  ]);
  expect(counts.answered).toBe(3);
  expect(answers.counts).toEqual({ requests: 3, errors: 1 });
});

it("an answer that is waited for does not hold up others, and is sent with others", async () => {
  const { sent, settle } = create();
  expect(settle("1", new DeferredAnswer(Promise.resolve("late")))).toBeUndefined();
  void settle("2", new DeferredAnswer(Promise.reject(new RpcError(-32000, "no"))));
  expect(sent).toEqual([]);
  await turn();
  expect(sent).toEqual([
    ["1", "late", LAZILY],
    ["2", { code: -32000, message: "no" }],
  ]);
});

it("large answers are made as long as the client has room, and the others when it has room again", async () => {
  const { answers, peer, sent, settle, later, counts } = create();
  const made: string[] = [];
  for (const id of ["1", "2", "3"])
    void settle(
      id,
      later(() => {
        made.push(id);
        peer.queuedBytes += HIGH_WATER_BYTES / 2;
        return id;
      }),
    );
  await turn();
  expect([made, counts.queueChanged]).toEqual([["1", "2"], 1]);
  answers.sendLate();
  expect(made).toEqual(["1", "2"]);
  peer.queuedBytes = 0;
  answers.sendLate();
  expect(sent).toEqual(["1", "2", "3"].map((id) => [id, id, LAZILY]));
});

it("a large answer that cannot be made is an error, and the next one is made", async () => {
  const { sent, faults, settle, later } = create();
  void settle(
    "1",
    later(() => {
      throw new TypeError("secret");
    }),
  );
  void settle(
    "2",
    later(() => "next"),
  );
  await turn();
  expect(sent).toEqual([
    ["1", INTERNAL],
    ["2", "next", LAZILY],
  ]);
  expect(faults).toEqual([["a handler failed", "m"]]);
});

it("what was not made for a client that is gone never is", async () => {
  const { answers, peer, sent, settle, later } = create();
  peer.queuedBytes = HIGH_WATER_BYTES;
  void settle(
    "1",
    later(() => "late"),
  );
  await turn();
  answers.clear();
  peer.queuedBytes = 0;
  answers.sendLate();
  expect(sent).toEqual([]);
});
