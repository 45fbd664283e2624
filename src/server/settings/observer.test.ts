import { openLink } from "../../../test/fixtures/open-link.ts";
import { createHash } from "node:crypto";
import { afterEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { RpcError } from "../../base/errors.ts";
import type { Link } from "../../rpc/link.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { combineObservers, type ServerObserver } from "./observer.ts";
import { createServer, type Server } from "../serve/server.ts";
import { serve } from "../serve/serve.ts";

let server: Server | undefined;
afterEach(() => server?.close());

/** Records the calls of every hook. */
function witness(calls: unknown[][]): Required<Omit<ServerObserver, "veto" | "hooksFor">> {
  const note =
    (hook: string) =>
    (...facts: unknown[]): void =>
      void calls.push([hook, ...facts]);
  return {
    connected: note("connected"),
    disconnected: note("disconnected"),
    refused: note("refused"),
    requested: note("requested"),
    denied: note("denied"),
    answered: note("answered"),
    processStarted: note("processStarted"),
    processEnded: note("processEnded"),
  };
}

async function linkTo(observers: readonly ServerObserver[]): Promise<Link> {
  server = createServer({ observers });
  const link = openLink(server);
  await link.request("initialize", { clientName: "test" });
  link.notify("initialized", {});
  return link;
}

const start = (argv: readonly string[]) => ({
  processId: "p",
  argv,
  cwd: "file:///",
  env: {},
  tty: false,
});

it("an observer learns of a connection, its requests, their answers and its processes", async () => {
  const calls: unknown[][] = [];
  const link = await linkTo([witness(calls)]);
  await link.request("process/start", start(["/bin/echo", "hello"]));
  await expect.poll(() => calls.some(([hook]) => hook === "processEnded")).toBe(true);
  await expect(link.request("no/such", {})).rejects.toThrow();
  link.close();
  await expect.poll(() => calls.at(-1)?.[0]).toBe("disconnected");
  const connection = expect.objectContaining({ number: 1, from: "local", session: expect.any(String) });
  const process = expect.objectContaining({
    connection,
    processId: "p",
    pid: expect.any(Number),
    argv: ["/bin/echo", "hello"],
    isConfined: false,
  });
  const request = (method: string) => expect.objectContaining({ method, connection });
  expect(calls.filter(([hook]) => hook !== "processEnded")).toEqual([
    ["connected", connection],
    ["requested", request("initialize"), { clientName: "test" }, undefined],
    ["answered", request("initialize"), { result: expect.anything() }],
    ["requested", request("process/start"), expect.objectContaining({ processId: "p" }), undefined],
    ["processStarted", process],
    ["answered", request("process/start"), { result: expect.anything() }],
    ["answered", request("no/such"), { error: expect.objectContaining({ code: RpcCode.methodNotFound }) }],
    ["disconnected", connection, undefined],
  ]);
  expect(calls.find(([hook]) => hook === "processEnded")).toEqual([
    "processEnded",
    process,
    { exitCode: 0, signal: undefined, outputBytes: 6, endedAtMs: expect.any(Number) },
  ]);
});

it("a process of the dialect v0 is observed too", async () => {
  const calls: unknown[][] = [];
  const link = await linkTo([witness(calls)]);
  await link.request("command/exec", { argv: ["/bin/true"], cwd: "file:///", env: {}, tty: false });
  await expect.poll(() => calls.some(([hook]) => hook === "processEnded")).toBe(true);
  expect(calls.find(([hook]) => hook === "processStarted")?.[1]).toMatchObject({ argv: ["/bin/true"] });
});

it("a veto is the answer, and the handler does not run", async () => {
  const calls: unknown[][] = [];
  const veto: ServerObserver = {
    veto: ({ method }) =>
      method === "process/start" ? new RpcError(RpcCode.internal, "not now") : undefined,
  };
  const link = await linkTo([witness(calls), veto]);
  await expect(link.request("process/start", start(["/bin/true"]))).rejects.toThrow("not now");
  const about = calls.filter(([, request]) => (request as { method?: string }).method === "process/start");
  expect(about.map(([hook, , answer]) => [hook, answer])).toEqual([
    ["answered", { error: { code: RpcCode.internal, message: "not now" } }],
  ]);
  expect(calls.some(([hook]) => hook === "processStarted")).toBe(false);
});

it("a connection that is turned away is observed with cause and address", async () => {
  const calls: unknown[][] = [];
  const listening = await serve({
    observers: [witness(calls)],
    authentication: {
      mode: "capability-token",
      tokenSha256: createHash("sha256").update("the token").digest(),
    },
  });
  server = listening;
  for (const options of [{}, { origin: "https://evil.example" }]) {
    const socket = new WebSocket(listening.url, options);
    await new Promise((resolve) => socket.once("error", resolve));
  }
  const from = expect.stringMatching(/^127\.0\.0\.1:\d+$/);
  expect(calls).toEqual([
    ["refused", { cause: "login", reason: "missing websocket bearer token", from }],
    ["refused", { cause: "origin", reason: "Forbidden", from }],
  ]);
});

it("an observer with hooks of its own for a method learns of that method only, and of everything forbidden", async () => {
  const calls: unknown[][] = [];
  const { denied, answered, requested } = witness(calls);
  const asked: string[] = [];
  server = createServer({
    local: { preset: "observe" },
    observers: [
      {
        denied,
        hooksFor: (method) => {
          asked.push(method);
          return method === "server/status" ? { answered, requested } : undefined;
        },
      },
    ],
  });
  const link = openLink(server);
  await link.request("initialize", { clientName: "test" });
  link.notify("initialized", {});
  for (let count = 0; count < 2; count += 1) {
    await link.request("server/status", {});
    await link.request("environment/status", {});
    await expect(link.request("no/such", {})).rejects.toThrow();
    await expect(link.request("process/start", start(["/bin/true"]))).rejects.toThrow("may not use");
    // A handler that forbids something has made its answer.
    await expect(link.request("process/list", { scope: "server" })).rejects.toThrow("does not show");
  }
  const expected = [
    ["requested", "server/status"],
    ["answered", "server/status"],
    ["denied", "process/start"],
  ];
  expect(calls.map(([hook, request]) => [hook, (request as { method: string }).method])).toEqual([
    ...expected,
    ...expected,
  ]);
  expect(asked).toHaveLength(new Set(asked).size);
  expect(asked).toContain("");
});

it("the time of a request is that of the turn of the event loop in which it came", async () => {
  const times: number[] = [];
  server = createServer({ observers: [{ requested: ({ startedAtMs }) => void times.push(startedAtMs) }] });
  const link = openLink(server);
  await link.request("initialize", { clientName: "test" });
  link.notify("initialized", {});
  const before = performance.now();
  await link.request("environment/status", {});
  for (const answered = performance.now(); performance.now() - answered < 2; );
  await link.request("environment/status", {});
  expect(times.at(-2)).toBeGreaterThanOrEqual(before);
  expect(times.at(-1)! - times.at(-2)!).toBeGreaterThan(1);
});

it("several observers are one, which has only the hooks that they have", () => {
  expect(combineObservers([])).toBeUndefined();
  const calls: unknown[][] = [];
  const { connected, answered } = witness(calls);
  const one = { connected };
  expect(combineObservers([one])).toBe(one);
  const both = combineObservers([one, { connected, answered }]);
  expect(Object.keys(both ?? {}).toSorted()).toEqual(["answered", "connected"]);
});
