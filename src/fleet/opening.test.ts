import { beforeEach, expect, test, vi } from "vitest";
import { type FakeBus, FakeNats } from "../../test/fixtures/fake-bus.ts";
import { useMovedClock } from "../../test/fixtures/moved-clock.ts";
import { openEnd } from "../../test/fixtures/virtual-pair.ts";
import { encodeBeat } from "./beat-message.ts";
import { FleetLink } from "./fleet-link.ts";
import { Membership } from "./membership.ts";
import type { OpenBusOptions } from "./open-bus.ts";
import { reach } from "./reach.ts";

const ADDRESS = { servers: "nats://127.0.0.1" };
const IDLE = { running: 0, free: 4, load: 0.5, state: "ready" } as const;
const CLOSE_MS = 50;

/** Connects to `nats` instead of a server, after a while; closing takes a while, too. */
let nats: FakeNats;
let opened: { bus: FakeBus; options: OpenBusOptions; closed: number }[] = [];
let openMs = 0;
vi.mock("./open-bus.ts", () => ({
  openBus: async (_: unknown, options: OpenBusOptions) => {
    const bus = nats.connect();
    const entry = { bus, options, closed: 0 };
    opened.push(entry);
    bus.close = async () => {
      await new Promise((resolve) => void setTimeout(resolve, CLOSE_MS));
      entry.closed += 1;
      bus.end("the connection to NATS is closed");
    };
    await new Promise((resolve) => void setTimeout(resolve, openMs));
    return bus;
  },
}));

const wait = useMovedClock();
beforeEach(() => {
  nats = new FakeNats();
  opened = [];
  openMs = 0;
});

/** What has become of a promise. */
function watched<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const result: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => (result.value = value),
    (error: unknown) => (result.error = error),
  );
  return result;
}

test("a link to a fleet is open when its list is complete", async () => {
  join("a");
  const { signal } = new AbortController();
  const opening = watched(FleetLink.open(ADDRESS, { timeoutMs: 5_000, signal }, () => {}));
  await wait(200);
  expect(opening).toEqual({});
  await wait(100);
  expect(opening.value?.list()).toMatchObject([{ id: "a" }]);
  expect(opened).toMatchObject([{ options: { timeoutMs: 5_000, signal }, closed: 0 }]);
});

test("a list that is not complete in the time that is left is an error, when NATS has been left", async () => {
  openMs = 400;
  const opening = watched(FleetLink.open(ADDRESS, { timeoutMs: 600 }, () => {}));
  await wait(600 + CLOSE_MS - 1);
  expect([opening, opened[0]!.closed]).toEqual([{}, 0]);
  await wait(1);
  expect(opening.error).toMatchObject({
    code: "TIMED_OUT",
    message: "the fleet could not be listed within 600ms",
  });
  expect(opened[0]!.closed).toBe(1);
});

test("opening a link ends with its signal, when NATS has been left", async () => {
  const controller = new AbortController();
  const opening = watched(FleetLink.open(ADDRESS, { timeoutMs: 5_000, signal: controller.signal }, () => {}));
  await wait(10);
  const reason = new Error("enough");
  controller.abort(reason);
  await wait(CLOSE_MS);
  expect([opening.error, opened[0]!.closed]).toEqual([reason, 1]);
});

test("an executor is reached over a connection to NATS that ends with the one to it", async () => {
  const { accepted, tokens } = join("a");
  const { signal } = new AbortController();
  const reaching = watched(reach(ADDRESS, "a", { token: "secret", timeoutMs: 5_000, signal }));
  await wait(10);
  const transport = reaching.value!;
  expect(opened).toMatchObject([{ options: { timeoutMs: 5_000, signal }, closed: 0 }]);
  const client = openEnd(transport, opened[0]!.bus);
  transport.send("question");
  await wait(10);
  expect([tokens, accepted[0]!.messages]).toEqual([["secret"], ["question"]]);
  transport.destroy();
  await wait(CLOSE_MS);
  expect([client.closed, opened[0]!.closed]).toEqual([[undefined], 1]);
});

test("an executor that cannot be reached in the time that is left leaves no connection to NATS", async () => {
  nats.connect().subscribe("exec.a.dial", () => {});
  openMs = 400;
  const reaching = watched(reach(ADDRESS, "a", { timeoutMs: 600 }));
  await wait(599);
  expect(reaching).toEqual({});
  await wait(1);
  expect(reaching.error).toMatchObject({ code: "TIMED_OUT" });
  await wait(CLOSE_MS);
  expect(opened[0]!.closed).toBe(1);
});

test("a name that no executor can have is refused before anything is opened", async () => {
  await expect(reach(ADDRESS, "a b")).rejects.toThrow("a b");
  expect(opened).toEqual([]);
});

test("an executor that was reached and runs again is noticed with its first beat, and with no other", async () => {
  const { bus } = join("a");
  const reaching = watched(reach(ADDRESS, "a"));
  await wait(10);
  const client = openEnd(reaching.value!, opened[0]!.bus);
  bus.disconnect();
  const beat = { run: "next", since: 1, labels: {}, ...IDLE };
  const told = nats.connect();
  told.publish("exec.a.beat", Buffer.from("{"));
  told.publish("exec.a.beat", encodeBeat({ ...beat, id: "b" }));
  told.publish("exec.a.beat", encodeBeat({ ...beat, id: "a", state: "gone" }));
  await wait(20);
  expect(client.closed).toBeUndefined();
  told.publish("exec.a.beat", encodeBeat({ ...beat, id: "a" }));
  await wait(20);
  expect(client.closed).toEqual(["executor a has been restarted"]);
});

function join(id: string) {
  const bus = nats.connect();
  const accepted: ReturnType<typeof openEnd>[] = [];
  const tokens: (string | undefined)[] = [];
  const membership = new Membership({
    bus,
    id,
    condition: () => IDLE,
    admit: async ({ token }) => {
      tokens.push(token);
      return { accept: (transport) => void accepted.push(openEnd(transport, bus)) };
    },
    replaced: () => {},
  });
  return { bus, membership, accepted, tokens };
}
