import { expect, it } from "vitest";
import type { Precedence } from "../../rpc/router.ts";
import { ProcessOrder } from "./process-order.ts";

const START: Precedence = { ordered: "processId" };
const READ: Precedence = { ordered: "processId", overtakes: "always" };
const WRITE: Precedence = { ordered: "processId", overtakes: "urgentInput" };
const COPY: Precedence = {};

const p = { processId: "p" };

it("only what is meant to overtakes, and only for a process that runs", () => {
  const order = new ProcessOrder((processId) => processId === "p");
  const may = (precedence: Precedence, params: unknown) => order.mayOvertake(precedence, params);
  expect([may(READ, p), may(WRITE, p), may(START, p), may(COPY, p)]).toEqual([true, false, false, false]);
  expect(
    [{ processId: "q" }, { processId: 5 }, {}, null, undefined, "p", ["p"]].map((params) =>
      may(READ, params),
    ),
  ).toEqual(Array.from({ length: 7 }, () => false));
  order.urgentInput = true;
  expect(may(WRITE, p)).toBe(true);
});

it("nothing overtakes a request about the same process, until that had its turn", () => {
  const order = new ProcessOrder(() => true);
  const turns = [order.wait(WRITE, p), order.wait(START, p), order.wait(COPY, { path: "x" })];
  expect(order.mayOvertake(READ, p)).toBe(false);
  expect(order.mayOvertake(READ, { processId: "q" })).toBe(true);
  turns[0]?.();
  expect(order.mayOvertake(READ, p)).toBe(false);
  turns[1]?.();
  expect(order.mayOvertake(READ, p)).toBe(true);
});

it("ids that are names of Object's members are ids like others", () => {
  const order = new ProcessOrder(() => true);
  for (const processId of ["__proto__", "constructor", "v0", ""]) {
    expect(order.mayOvertake(READ, JSON.parse(`{"processId":${JSON.stringify(processId)}}`))).toBe(true);
    const turn = order.wait(WRITE, { processId });
    expect(order.mayOvertake(READ, { processId })).toBe(false);
    turn();
  }
});

it("requests of the first dialect keep their order among each other, whatever runs, and wait for no others", () => {
  const v0: Precedence = { ordered: "v0", overtakes: "always" };
  const order = new ProcessOrder(() => false);
  order.wait(WRITE, { processId: "v0" });
  expect(order.mayOvertake(v0, {})).toBe(true);
  const turn = order.wait({ ordered: "v0" }, {});
  expect(order.mayOvertake(v0, {})).toBe(false);
  turn();
  expect(order.mayOvertake(v0, {})).toBe(true);
});

it("an id that is refused for its length is not compared with others", () => {
  const asked: string[] = [];
  const order = new ProcessOrder((processId) => asked.push(processId) > 0);
  const may = (length: number) => order.mayOvertake(READ, { processId: "x".repeat(length) });
  expect([may(8_193), asked.length, may(8_192), asked.length]).toEqual([false, 0, true, 1]);
});
