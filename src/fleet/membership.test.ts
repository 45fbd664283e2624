import { expect, test } from "vitest";
import { type FakeBus, FakeNats } from "../../test/fixtures/fake-bus.ts";
import { useMovedClock } from "../../test/fixtures/moved-clock.ts";
import { dialFrom, openEnd } from "../../test/fixtures/virtual-pair.ts";
import type { Transport } from "../transport/transport.ts";
import type { Beat } from "./beat.ts";
import { decodeBeat, encodeBeat } from "./beat-message.ts";
import { Mailboxes } from "./mailboxes.ts";
import { type Condition, Membership } from "./membership.ts";
import { Roster } from "./roster.ts";

const wait = useMovedClock();
const IDLE: Condition = { running: 0, free: 4, load: 0.5, state: "ready" };
const BEAT: Beat = { id: "a", run: "r", since: 1, labels: { zone: "eu" }, ...IDLE };

test("executors are listed at once, by name, with their announcements", async () => {
  const nats = new FakeNats();
  join(nats, "web-2", { labels: { zone: "eu" }, version: "1.2.3" });
  join(nats, "web-1");
  const { roster } = joinAndList(nats);
  await wait(260);
  await roster.ready;
  expect(roster.list()).toMatchObject([
    { id: "web-1", labels: {}, ...IDLE },
    { id: "web-2", labels: { zone: "eu" }, version: "1.2.3", ...IDLE },
  ]);
});

test("many answers show how soon the list is complete; a few do not", async () => {
  for (const { count, isReadyAfterMs } of [
    { count: 120, isReadyAfterMs: 30 },
    { count: 5, isReadyAfterMs: 260 },
  ]) {
    const nats = new FakeNats();
    const executors = nats.connect();
    executors.subscribe("fleet.call", ({ reply }) => {
      for (let at = 0; at < count; at += 1) {
        executors.publish(`exec.n${at}.beat`, encodeBeat({ ...BEAT, id: `n${at}` }));
        executors.publish(reply!, Buffer.alloc(0));
      }
    });
    const { roster } = joinAndList(nats);
    let isReady = false;
    void roster.ready.then(() => (isReady = true));
    await wait(isReadyAfterMs - 10);
    expect(isReady).toBe(false);
    await wait(10);
    expect(isReady).toBe(true);
    expect(roster.list()).toHaveLength(count);
  }
});

test("the list of an empty fleet does not keep anybody waiting", async () => {
  const { roster } = joinAndList(new FakeNats());
  await wait(260);
  await roster.ready;
  expect(roster.list()).toEqual([]);
});

test("a watcher learns who joins, changes and leaves, and nothing twice", async () => {
  const nats = new FakeNats();
  const { changes } = joinAndList(nats);
  await wait(100);
  let running = 0;
  const { membership } = join(nats, "a", { condition: () => ({ ...IDLE, running }) });
  await wait(10_000);
  running = 3;
  membership.announce();
  await wait(10);
  membership.leave("over");
  await wait(10);
  expect(changes).toEqual(["joined a 0", "changed a 3", "left a 3"]);
});

test("an executor that is silent is gone after some seconds, and is back with its next beat", async () => {
  const nats = new FakeNats();
  const { bus } = join(nats, "a");
  const { roster, changes } = joinAndList(nats);
  await wait(100);
  bus.disconnect();
  await wait(9_000);
  expect([changes, roster.list()]).toEqual([["joined a 0", "left a 0"], []]);
  bus.reconnect();
  await wait(10);
  expect(roster.list()).toHaveLength(1);
});

test("a watcher that lost the bus itself does not think that everyone is gone", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  const { bus, changes } = joinAndList(nats);
  await wait(100);
  bus.disconnect();
  await wait(60_000);
  bus.reconnect();
  await wait(5_000);
  expect(changes).toEqual(["joined a 0"]);
});

test("of two executors with one name the newer stays, and the older one is notified and cut off", async () => {
  const nats = new FakeNats();
  const older = join(nats, "a");
  await wait(100);
  const bus = nats.connect();
  const dialled = dialFrom(bus, "a");
  await wait(10);
  const client = openEnd(await dialled, bus);
  client.transport.send("x");
  await wait(10);
  const newer = join(nats, "a");
  const { roster } = joinAndList(nats);
  await wait(100);
  const reason = "a newer executor named a has joined the fleet";
  expect(client.closed).toEqual([reason]);
  expect([older.replaced, newer.replaced]).toEqual([[true], []]);
  expect(roster.list()).toHaveLength(1);
  const again = dialFrom(bus, "a");
  await wait(10);
  await again;
  expect([older.accepted.length, newer.accepted.length]).toEqual([1, 1]);
});

test("an older executor that could not be reached when it was replaced leaves when it comes back", async () => {
  const nats = new FakeNats();
  const older = join(nats, "a");
  await wait(100);
  older.bus.disconnect();
  const newer = join(nats, "a");
  await wait(10_000);
  expect(older.replaced).toEqual([]);
  older.bus.reconnect();
  await wait(100);
  expect([older.replaced, newer.replaced]).toEqual([[true], []]);
});

test("an executor does not give way to a beat of another name on its own subject", async () => {
  const nats = new FakeNats();
  const { replaced, bus } = join(nats, "a");
  await wait(100);
  nats.connect().publish("exec.a.beat", encodeBeat({ ...BEAT, id: "b", since: Date.now() + 1e9 }));
  await wait(100);
  expect([replaced, bus.isConnected]).toEqual([[], true]);
});

test("an executor that has left accepts no one, not even whom it was about to accept", async () => {
  const nats = new FakeNats();
  let decide = (): void => {};
  const decided = new Promise<void>((resolve) => {
    decide = resolve;
  });
  const { membership, accepted } = join(nats, "a", { decided });
  const bus = nats.connect();
  const dialled = dialFrom(bus, "a", { timeoutMs: 5_000 }).catch((error: Error) => error.message);
  await wait(5);
  membership.leave("over");
  decide();
  await wait(6_000);
  expect(await dialled).toContain("no executor of this name is connected to the fleet");
  expect(accepted).toEqual([]);
});

test("an executor that has left is silent, also towards calls that it was about to answer", async () => {
  const nats = new FakeNats();
  const { membership } = join(nats, "a");
  await wait(100);
  const caller = nats.connect();
  const heard: string[] = [];
  for (const subject of ["_INBOX.caller.*", "exec.a.beat"])
    caller.subscribe(subject, (message) => {
      // NATS reports that the last call has no receivers.
      if (!message.isUndeliverable) heard.push(message.subject);
    });
  const call = (number: number): void =>
    caller.publish("fleet.call", Buffer.alloc(0), `_INBOX.caller.${number}`);
  call(1);
  await wait(5);
  call(2);
  await wait(5);
  membership.leave("over");
  membership.leave("over");
  call(3);
  await wait(10_000);
  expect(heard).toEqual(["exec.a.beat", "_INBOX.caller.1", "exec.a.beat"]);
});

test("calls that come together are answered together, each where its client receives and once", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  await wait(100);
  const caller = nats.connect();
  const heard: string[] = [];
  for (const subject of ["_INBOX.caller.*", "exec.a.beat", "exec.a.dial"])
    caller.subscribe(subject, (message) => void heard.push(message.subject));
  const call = (reply?: string): void => caller.publish("fleet.call", Buffer.alloc(0), reply);
  call("_INBOX.caller.1");
  await wait(5);
  for (const reply of ["_INBOX.caller.2", undefined, "exec.a.dial", "_INBOX.caller.3"]) call(reply);
  await wait(10);
  expect(heard).toEqual(["exec.a.beat", "_INBOX.caller.1"]);
  await wait(10);
  const answers = ["exec.a.beat", "_INBOX.caller.2", "_INBOX.caller.3"];
  expect(heard.slice(2)).toEqual(answers);
  await wait(100);
  call("_INBOX.caller.4");
  await wait(5);
  expect(heard.slice(5)).toEqual(["exec.a.beat", "_INBOX.caller.4"]);
});

test("an older executor of the same name is answered every half a second at most", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  await wait(100);
  const older = nats.connect();
  const heard: Beat[] = [];
  older.subscribe("exec.a.beat", ({ data }) => {
    const beat = decodeBeat(data)!;
    if (beat.run !== BEAT.run) heard.push(beat);
  });
  const insist = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 10) {
      older.publish("exec.a.beat", encodeBeat(BEAT));
      await wait(10);
    }
  };
  await insist(490);
  expect(heard).toHaveLength(1);
  await insist(490);
  expect(heard).toHaveLength(2);
  await wait(900);
  heard.length = 0;
  older.publish("exec.a.beat", encodeBeat({ ...BEAT, state: "gone" }));
  await wait(10);
  expect(heard).toEqual([]);
});

test.each([
  ["text that is no JSON", Buffer.from("{")],
  ["a number", Buffer.from("1")],
  ["a name that cannot be dialled", encodeBeat({ ...BEAT, id: "\u001b[31ma" })],
  ["a time that does not exist", encodeBeat({ ...BEAT, since: 8.64e15 + 1 })],
  ["another version", Buffer.from(JSON.stringify({ ...BEAT, protocol: 2 }))],
  ["labels that are no texts", encodeBeat({ ...BEAT, labels: { a: 1 } as never })],
  ["too many labels", encodeBeat({ ...BEAT, labels: Object.fromEntries(numbers(65)) })],
  ["a long text", encodeBeat({ ...BEAT, version: "x".repeat(300) })],
  ["a number that is none", encodeBeat({ ...BEAT, load: Number.NaN })],
  ["half a process", encodeBeat({ ...BEAT, running: 0.5 })],
  ["more slots than can be counted", encodeBeat({ ...BEAT, free: 1e300 })],
  ["a state that does not exist", encodeBeat({ ...BEAT, state: "odd" as never })],
  ["a megabyte", Buffer.alloc(1024 * 1024, 32)],
])("a beat with %s is ignored", (_, data) => {
  expect(decodeBeat(data)).toBeUndefined();
});

test("beats survive being written and read", () => {
  expect(decodeBeat(encodeBeat(BEAT))).toEqual(BEAT);
  expect(decodeBeat(encodeBeat({ ...BEAT, version: "1" }))).toEqual({ ...BEAT, version: "1" });
});

test("the list holds a bounded number of executors", async () => {
  const nats = new FakeNats();
  const { bus, roster } = joinAndList(nats);
  await wait(100);
  for (let at = 0; at < 20_050; at += 1) hear(bus, `exec.n${at}.beat`, { ...BEAT, id: `n${at}` });
  expect(roster.list()).toHaveLength(20_000);
});

test("the list holds a bounded number of bytes, and who is in it stays, whatever it announces", async () => {
  const nats = new FakeNats();
  const { bus, roster } = joinAndList(nats);
  await wait(100);
  hear(bus, "exec.a.beat", BEAT);
  const labels = Object.fromEntries(numbers(64).map(([key]) => [key, "x".repeat(200)]));
  for (let at = 0; at < 6_000; at += 1) hear(bus, `exec.n${at}.beat`, { ...BEAT, id: `n${at}`, labels });
  const { length } = roster.list();
  expect(length * JSON.stringify(labels).length).toBeLessThan(64 * 1024 * 1024);
  expect(length).toBeGreaterThan(4_000);
  await wait(4_000);
  hear(bus, "exec.a.beat", { ...BEAT, labels });
  await wait(4_000);
  expect(roster.list()).toEqual([BEAT]);
  // Those who have left make room.
  hear(bus, "exec.a.beat", { ...BEAT, labels });
  expect(roster.list()).toEqual([{ ...BEAT, labels }]);
});

test("each who follows an executor hears its runs, and no other's, until he stops", () => {
  const { bus, roster } = joinAndList(new FakeNats());
  const heard: string[] = [];
  const [first, second] = ["first", "second"].map((name) =>
    roster.follow("a", (run) => void heard.push(`${name} ${run}`)),
  );
  hear(bus, "exec.a.beat", BEAT);
  hear(bus, "exec.b.beat", { ...BEAT, id: "b" });
  hear(bus, "exec.a.beat", { ...BEAT, state: "gone" });
  expect(heard.splice(0)).toEqual(["first r", "second r"]);
  first!();
  hear(bus, "exec.a.beat", BEAT);
  expect(heard.splice(0)).toEqual(["second r"]);
  second!();
  roster.follow("a", (run) => void heard.push(`third ${run}`));
  second!();
  hear(bus, "exec.a.beat", BEAT);
  expect(heard).toEqual(["third r"]);
});

test("a beat on the subject of another executor is ignored", async () => {
  const { bus, roster } = joinAndList(new FakeNats());
  hear(bus, "exec.b.beat", BEAT);
  expect(roster.list()).toEqual([]);
  hear(bus, "exec.a.beat", BEAT);
  expect(roster.list()).toEqual([BEAT]);
});

function hear(bus: FakeBus, subject: string, beat: Beat): void {
  bus.receive({ subject, data: encodeBeat(beat), reply: undefined, isUndeliverable: false });
}

interface Joined {
  readonly bus: FakeBus;
  readonly membership: Membership;
  readonly accepted: Transport[];
  readonly replaced: true[];
}

function join(
  nats: FakeNats,
  id: string,
  {
    decided = Promise.resolve(),
    condition = () => IDLE,
    ...more
  }: {
    decided?: Promise<void>;
    condition?: () => Condition;
    labels?: Record<string, string>;
    version?: string;
  } = {},
): Joined {
  const bus = nats.connect();
  const accepted: Transport[] = [];
  const replaced: true[] = [];
  const membership = new Membership({
    ...more,
    bus,
    id,
    condition,
    admit: async () => {
      await decided;
      return { accept: (transport) => void accepted.push(transport) };
    },
    replaced: () => void replaced.push(true),
  });
  return { bus, membership, accepted, replaced };
}

function joinAndList(nats: FakeNats): { bus: FakeBus; roster: Roster; changes: string[] } {
  const bus = nats.connect();
  const roster = new Roster(bus, new Mailboxes(bus, "_INBOX.looker", () => false));
  const changes: string[] = [];
  roster.watch(({ kind, executor }) => void changes.push(`${kind} ${executor.id} ${executor.running}`));
  return { bus, roster, changes };
}

function numbers(count: number): [string, string][] {
  return Array.from({ length: count }, (_, at) => [`${at}`, ""]);
}
