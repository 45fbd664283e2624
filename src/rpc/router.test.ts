import { expect, test } from "vitest";
import { RpcError } from "../base/errors.ts";
import { type Handlers, Router, unknownMethod } from "./router.ts";

interface Context {
  readonly steps: unknown[];
  readonly refusal?: "gate" | "door" | "watch";
}

const handlers: Handlers<Context> = {
  initialize: ({ steps }) => {
    steps.push("initialize");
    return { sessionId: "s" };
  },
  "process/read": ({ steps }, params, attachment) => {
    steps.push(["handler", params, attachment]);
    return "answer" as never;
  },
};
const router = new Router(handlers, {
  gate: (context, family) => pass(context, "gate", family),
  authorize: (context, { name, definition, params }) =>
    pass(context, "door", [name, definition.right, params]),
});

function pass({ steps, refusal }: Context, step: "gate" | "door" | "watch", what: unknown): void {
  steps.push([step, what]);
  if (refusal === step) throw new RpcError(-32000, `no: ${step}`);
}

function call(params: unknown, refusal?: Context["refusal"]): { steps: unknown[]; result: () => unknown } {
  const context: Context = { steps: [], ...(refusal === undefined ? {} : { refusal }) };
  const attachment = { bytes: new Uint8Array(1), release: () => {} };
  const watch = { allowed: (checked: unknown) => pass(context, "watch", checked) };
  const result = (): unknown =>
    router.find("process/read")!.call(context, params, refusal === "watch" ? undefined : attachment, watch);
  return { steps: context.steps, result };
}

test("a request passes its schema, the gate, the door and who watches it, in this order", () => {
  const params = { processId: "p", afterSeq: 1 };
  const { steps, result } = call({ ...params, unknown: 1 });
  expect(result()).toBe("answer");
  expect(steps).toEqual([
    ["gate", "exec"],
    ["door", ["process/read", "follow", params]],
    ["watch", params],
    ["handler", params, expect.objectContaining({ bytes: expect.any(Uint8Array) })],
  ]);
});

test.each([
  ["gate", ["gate"]],
  ["door", ["gate", "door"]],
  ["watch", ["gate", "door", "watch"]],
] as const)("a request that is refused at the %s goes no further", (refusal, passed) => {
  const { steps, result } = call({ processId: "p" }, refusal);
  expect(result).toThrow(`no: ${refusal}`);
  expect(steps.map((step) => (step as unknown[])[0])).toEqual(passed);
});

test("invalid parameters are refused before anything else, and the first fault is reported", () => {
  const { steps, result } = call({ processId: 7 });
  expect(result).toThrow(
    expect.objectContaining({ rpcCode: -32602, message: "invalid type: number, expected a string" }),
  );
  expect(steps).toEqual([]);
});

test("the handshake has no gate", () => {
  const context: Context = { steps: [] };
  const { call: initialize } = router.find("initialize")!;
  expect(initialize(context, { clientName: "c" }, undefined, undefined)).toEqual({ sessionId: "s" });
  expect(context.steps.map((step) => (Array.isArray(step) ? (step as unknown[])[0] : step))).toEqual([
    "door",
    "initialize",
  ]);
});

test("a method has the place in the queue that the wire gives it", () => {
  expect(router.precedenceOf("process/read")).toMatchObject({ ordered: "processId", overtakes: "always" });
  const served = router.find("process/read")!;
  expect({ lane: served.lane, ordered: served.ordered, overtakes: served.overtakes }).toEqual({
    lane: undefined,
    ordered: "processId",
    overtakes: "always",
  });
  const all = new Router(
    { "process/terminate": () => ({ running: true }) },
    { gate: () => {}, authorize: () => {} },
  );
  expect(all.precedenceOf("process/terminate")).toMatchObject({ lane: "control" });
});

test("a method that is not served has no place, and is answered like an unknown one", () => {
  expect(router.find("process/write")).toBeUndefined();
  expect(router.precedenceOf("process/write")).toEqual({});
  expect(unknownMethod("process/write")).toMatchObject({
    rpcCode: -32601,
    message: "exec-server stub does not implement `process/write` yet",
  });
});
