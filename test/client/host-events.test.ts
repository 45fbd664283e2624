import { afterEach, expect, test } from "vitest";
import type { ConnectOptions } from "../../src/client/host/open-host.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { HostEvent } from "../../src/client/session/event-feed.ts";
import { createServer, type Server } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import { connect } from "./served.ts";

const DEADLINE_MS = 20_000;
const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

let server: Server | undefined;
let host: Host | undefined;

async function open(options: ConnectOptions = {}): Promise<Host> {
  server = createServer();
  host = await connect(server, options);
  return host;
}

afterEach(async () => {
  await host?.close();
  await server?.close();
});

async function all(events: AsyncIterable<HostEvent>): Promise<HostEvent[]> {
  const collected: HostEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

test("the events of all processes come in the order of each, and end with the session", async () => {
  const machine = await open();
  const reading = all(machine.events());
  await Promise.all([
    machine.run(["echo", "one"], { processId: "a" }),
    machine.run(["false"], { processId: "b" }),
  ]);
  await machine.close();
  const collected = await inTime(reading, "the end of the events");
  const of = (id: string) => collected.filter((event) => "processId" in event && event.processId === id);
  expect(of("a").map(({ kind }) => kind)).toEqual(["output", "exited", "closed"]);
  expect(of("b")).toMatchObject([{ kind: "exited", exitCode: 1 }, { kind: "closed" }]);
  expect(await inTime(all(machine.events()), "the end")).toEqual([]);
});

test("with reportStarts, each start is among the events, once and before everything else of its process", async () => {
  const machine = await open({ reportStarts: true });
  const reading = all(machine.events());
  const started = await machine.start(["echo", "one"], { processId: "a" });
  await started.closed;
  await expect(machine.start(["/no/such/program"], { processId: "b" })).rejects.toThrow("/no/such/program");
  await machine.close();
  const collected = await inTime(reading, "the end of the events");
  const of = (id: string) => collected.filter((event) => "processId" in event && event.processId === id);
  expect(of("a")).toMatchObject([
    { kind: "started", pid: started.pid },
    { kind: "output" },
    { kind: "exited" },
    { kind: "closed" },
  ]);
  expect(of("b")).toMatchObject([{ kind: "failed", code: "SPAWN_FAILED" }]);
});

test("a reader that does not read makes no process wait, and learns what it missed", async () => {
  const machine = await open();
  const slow = machine.events();
  const { stdoutOmittedBytes, stdoutBytes } = await inTime(
    machine.run(["head", "-c", "40000000", "/dev/zero"]),
    "the command",
  );
  expect(stdoutOmittedBytes + stdoutBytes.length).toBe(40_000_000);
  const { value } = await inTime(slow.next(), "the first event");
  expect(value).toMatchObject({ kind: "lagged" });
  let bytes = 0;
  for (;;) {
    const next = await inTime(slow.next(), "the next event");
    if (next.value?.kind === "output") bytes += next.value.bytes.length;
    if (next.value?.kind === "closed") break;
  }
  expect(bytes).toBeGreaterThan(8 * 1024 * 1024);
  expect(bytes).toBeLessThanOrEqual(16 * 1024 * 1024);
});

test("a reader can leave, by a break or by its signal", async () => {
  const machine = await open();
  const controller = new AbortController();
  const aborted = machine.events({ signal: controller.signal }).next();
  controller.abort(new Error("enough"));
  await expect(inTime(aborted, "the abort")).rejects.toThrow("enough");
  const running = machine.run(["echo", "x"]);
  for await (const event of machine.events()) {
    expect(event).toHaveProperty("processId");
    break;
  }
  await inTime(running, "the command");
});

test("a snapshot says whether it is truncated", async () => {
  const machine = await open();
  const process = await machine.start(["sh", "-c", "head -c 1000 /dev/zero; echo x >&2; sleep 60"]);
  for await (const { stream } of process.output()) if (stream === "stderr") break;
  const of = async (maxBytes: number) =>
    (await process.snapshot({ maxBytes })).streams.find(({ stream }) => stream === "stdout");
  expect(await of(100)).toMatchObject({ truncated: true, omittedBytes: 900 });
  expect(await of(1000)).toMatchObject({ truncated: false, omittedBytes: 0 });
});
