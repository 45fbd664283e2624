import { expect, onTestFinished, test, vi } from "vitest";
import type { Executor, ExecutorChange } from "../../../client/host/executor.ts";
import type { FleetState } from "../../../client/host/fleet.ts";
import type { FleetMessage } from "../../../console/fleet/fleet-messages.ts";
import { createMemoryPair } from "../../../transport/memory.ts";
import { HIGH_WATER_BYTES, type Transport } from "../../../transport/transport.ts";
import { feedPage, type FleetSource } from "./fleet-feed.ts";

const IDLE: Executor = { id: "a", labels: {}, running: 0, free: 4, load: 0, state: "ready", since: 1 };

/** A fleet, and a page that shows it. */
function open(executors: readonly Executor[], overrides: Partial<FleetSource> = {}) {
  const list = new Map(executors.map((executor) => [executor.id, executor]));
  const watchers = new Set<(change: ExecutorChange) => void>();
  const listeners = new Set<(state: FleetState) => void>();
  const [near, far] = createMemoryPair();
  let queuedBytes = 0;
  const page: Transport = Object.create(near, { queuedBytes: { get: () => queuedBytes } });
  for (const name of ["send", "close"] as const) page[name] = near[name].bind(near) as never;
  let drain = (): void => {};
  page.open = (events) => {
    drain = () => events.drain();
    near.open(events);
  };
  const heard: FleetMessage[] = [];
  let farewell: number | undefined;
  far.open({
    message: (text) => heard.push(JSON.parse(text) as FleetMessage),
    drain: () => {},
    close: (_reason, code) => {
      farewell = code ?? 0;
    },
  });
  feedPage(page, {
    name: "prod",
    servers: "nats://127.0.0.1:4222",
    open: async (id) => `http://127.0.0.1:1/#link=${id}`,
    explain: String,
    ...overrides,
    fleet: {
      state: "connected",
      list: () => [...list.values()],
      watch: (watcher) => {
        watchers.add(watcher);
        return () => watchers.delete(watcher);
      },
      onStateChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      cordon: async () => {},
      uncordon: async () => {},
      ...overrides.fleet,
    },
  });
  return {
    heard,
    far,
    get farewell() {
      return farewell;
    },
    get watched() {
      return watchers.size + listeners.size;
    },
    change: (kind: ExecutorChange["kind"], executor: Executor) => {
      for (const watcher of watchers) watcher({ kind, executor });
    },
    fill: () => {
      queuedBytes = HIGH_WATER_BYTES;
    },
    empty: () => {
      queuedBytes = 0;
      drain();
    },
    ask: (value: unknown) => far.send(typeof value === "string" ? value : JSON.stringify(value)),
  };
}

const machines = (heard: readonly FleetMessage[]) => heard.filter((message) => message.kind === "machines");

test("a page gets all machines in messages of a bounded size, then each change once", async () => {
  const long = { text: "x".repeat(200) };
  const fleet = Array.from({ length: 1000 }, (_, index) => ({ ...IDLE, id: `m-${index}`, labels: long }));
  const feed = open(fleet);
  await expect.poll(() => machines(feed.heard).at(-1)?.isComplete).toBe(true);
  expect(feed.heard[0]).toMatchObject({ kind: "fleet", name: "prod", state: "connected" });
  const sent = machines(feed.heard);
  expect(sent.flatMap((message) => message.machines)).toEqual(fleet);
  expect(sent.length).toBeGreaterThan(2);
  for (const message of sent) expect(JSON.stringify(message).length).toBeLessThan(70_000);
  for (let load = 1; load < 50; load += 1) feed.change("changed", { ...IDLE, load });
  feed.change("left", { ...IDLE, id: "m-1" });
  await expect.poll(() => machines(feed.heard).length).toBe(sent.length + 1);
  expect(machines(feed.heard).at(-1)).toEqual({
    kind: "machines",
    machines: [{ ...IDLE, load: 49 }],
    left: ["m-1"],
    isComplete: true,
  });
});

test("a page that does not read gets the rest when it does, in its current state", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const feed = open([]);
  feed.fill();
  feed.change("joined", IDLE);
  feed.change("joined", { ...IDLE, id: "b" });
  vi.advanceTimersByTime(1000);
  feed.change("left", { ...IDLE, id: "b" });
  feed.change("changed", { ...IDLE, load: 2 });
  // No timer is left that could send it instead.
  vi.advanceTimersByTime(1000);
  feed.empty();
  await expect.poll(() => machines(feed.heard).at(-1)?.left).toEqual(["b"]);
  // Nothing before.
  expect(machines(feed.heard).map((message) => message.machines)).toEqual([[], [{ ...IDLE, load: 2 }]]);
});

test("a page that reads nothing while names come and go has to connect again", async () => {
  const feed = open([]);
  feed.fill();
  for (let index = 0; index <= 40_000; index += 1) feed.change("left", { ...IDLE, id: `m-${index}` });
  await expect.poll(() => feed.farewell).toBeDefined();
  expect(feed.watched).toBe(0);
});

test("requests are answered with a link, with nothing, or with the reason", async () => {
  const feed = open([IDLE], { fleet: { cordon: () => Promise.reject(new Error("no")) } as never });
  feed.ask({ request: 1, do: "open", machine: "a" });
  feed.ask({ request: 2, do: "cordon", machine: "a" });
  feed.ask({ request: 3, do: "uncordon", machine: "a" });
  feed.ask({ request: 4, do: "open", machine: "b" });
  const answers = () =>
    feed.heard
      .filter((message) => message.kind === "answer")
      .sort((one, other) => one.request - other.request);
  await expect.poll(() => answers().length).toBe(4);
  expect(answers()).toEqual([
    { kind: "answer", request: 1, link: "http://127.0.0.1:1/#link=a" },
    { kind: "answer", request: 2, error: "Error: no" },
    { kind: "answer", request: 3 },
    { kind: "answer", request: 4, error: "b is not in the fleet 'prod'" },
  ]);
});

test.each([
  "",
  "[",
  "null",
  "{}",
  '{"request":1,"do":"close","machine":"a"}',
  '{"request":1,"do":"constructor","machine":"a"}',
  '{"request":1,"do":"open","machine":7}',
  `{"request":1,"do":"open","machine":"${"x".repeat(5000)}"}`,
])("%.60s is no request, and ends the connection", async (text) => {
  const feed = open([IDLE]);
  feed.ask(text);
  await expect.poll(() => feed.farewell).toBeDefined();
  expect(feed.heard.some(({ kind }) => kind === "answer")).toBe(false);
});

test("more requests than a person makes end the connection", async () => {
  const feed = open([IDLE], { open: () => new Promise(() => {}) });
  for (let request = 0; request <= 16; request += 1) feed.ask({ request, do: "open", machine: "a" });
  await expect.poll(() => feed.farewell).toBeDefined();
});
