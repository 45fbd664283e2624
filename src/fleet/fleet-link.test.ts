import { expect, test } from "vitest";
import { type FakeBus, FakeNats } from "../../test/fixtures/fake-bus.ts";
import { useMovedClock } from "../../test/fixtures/moved-clock.ts";
import type { Beat } from "./beat.ts";
import { encodeBeat } from "./beat-message.ts";
import { FleetLink } from "./fleet-link.ts";
import { FrameKind } from "./frames.ts";
import { type Condition, Membership } from "./membership.ts";

const wait = useMovedClock();
/** The time of a call that everybody answers at once, and a little more. */
const LISTED_MS = 270;
const IDLE = { running: 0, free: 4, load: 0.5, state: "ready" } as const;

test("the list is complete at once, even if there are no executors", async () => {
  const empty = enter(new FakeNats());
  await wait(260);
  expect(empty.outcome).toBe("complete");
  const nats = new FakeNats();
  join(nats, "b");
  join(nats, "a");
  const { link, outcome } = await afterwards(enter(nats), LISTED_MS);
  expect([outcome, ids(link)]).toEqual(["complete", ["a", "b"]]);
});

test("a list that NATS has interrupted is asked for again", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  const entered = enter(nats);
  entered.bus.disconnect();
  await wait(3_000);
  expect([entered.outcome, ids(entered.link)]).toEqual(["pending", []]);
  entered.bus.reconnect();
  await wait(1_500);
  expect([entered.outcome, ids(entered.link)]).toEqual(["complete", ["a"]]);
  expect(entered.states).toEqual(["recovering", "connected"]);
});

test("an interruption that is over before the answer is lost does not make a short list complete", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  const entered = enter(nats);
  entered.bus.disconnect();
  // The second call is lost as well, in the moment before the third.
  nats.fate = () => "is lost";
  entered.bus.reconnect();
  await wait(990);
  nats.fate = () => "arrives";
  await wait(1_400);
  expect([entered.outcome, ids(entered.link)]).toEqual(["complete", ["a"]]);
});

test.each(["exec.*.beat", "fleet.call", "_INBOX.me.*"])(
  "without the permission for %s there is no list, and the reason is told at once",
  async (subject) => {
    const nats = new FakeNats();
    join(nats, "a");
    const entered = enter(nats);
    for (const denied of ["exec.other.dial", subject, "fleet.call", "exec.*.beat"]) entered.bus.deny(denied);
    await wait(0);
    await expect
      .poll(() => entered.outcome)
      .toBe(`NATS does not permit this client to list the executors: it may not use the subject ${subject}`);
  },
);

test("a bus that has ended is reported to everyone who lists or dials", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  const { bus, link, states } = await afterwards(enter(nats), LISTED_MS);
  const dialled = link.dial("a", {}).catch((error: Error) => error.message);
  bus.end("the user was revoked");
  expect(await dialled).toBe("failed to connect to executor a: the user was revoked");
  await expect(link.dial("a", {})).rejects.toThrow("the user was revoked");
  await expect(link.complete()).rejects.toThrow("the user was revoked");
  expect(states).toEqual(["closed"]);
});

test("closing ends the connections, and nothing can be dialled afterwards", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  const { link } = await afterwards(enter(nats), LISTED_MS);
  const dialled = link.dial("a", {});
  await wait(5);
  const closed: (string | undefined)[] = [];
  (await dialled).open({
    message: () => {},
    drain: () => {},
    close: (reason) => void closed.push(reason),
  });
  await link.close();
  expect(closed).toHaveLength(1);
  await expect(link.dial("a", {})).rejects.toThrow("the fleet is closed");
  expect(nats.publishedFrames).toBeGreaterThan(0);
  const before = nats.publishedFrames;
  await wait(100);
  expect(nats.publishedFrames - before).toBeLessThan(3);
});

test("those who want to know how executors are now share a call, but not one that began before", async () => {
  const nats = new FakeNats();
  let running = 0;
  join(nats, "a", nats.connect(), () => ({ ...IDLE, running }));
  const { link } = await afterwards(enter(nats), LISTED_MS);
  let calls = 0;
  nats.fate = (frame) => {
    if (frame.length === 0) calls += 1;
    return "arrives";
  };
  let answered = 0;
  const refresh = (): Promise<void> => link.refresh().then(() => void (answered += 1));
  const first = refresh();
  await wait(2);
  running = 1;
  const others = Array.from({ length: 50 }, refresh);
  await wait(40);
  // Each is one message to the executor, and its answer.
  expect([link.list()[0]!.running, calls, answered]).toEqual([0, 2, 0]);
  await wait(LISTED_MS);
  expect(answered).toBe(1);
  await wait(LISTED_MS);
  await Promise.all([first, ...others]);
  expect([link.list()[0]!.running, calls]).toEqual([1, 4]);
});

test("an executor that was killed and runs again is noticed with its first beat", async () => {
  const nats = new FakeNats();
  const killed = nats.connect();
  join(nats, "a", killed);
  const { link } = await afterwards(enter(nats), LISTED_MS);
  const client = await dialled(link);
  killed.disconnect();
  await wait(20);
  expect(client.closed).toEqual([]);
  join(nats, "a");
  await wait(20);
  expect(client.closed).toEqual(["executor a has been restarted"]);
});

test("an executor that is only connecting again is not lost, whoever else is heard", async () => {
  const nats = new FakeNats();
  const moving = nats.connect();
  join(nats, "a", moving);
  const { link } = await afterwards(enter(nats), LISTED_MS);
  const client = await dialled(link);
  moving.disconnect();
  join(nats, "b");
  await wait(2_000);
  moving.reconnect();
  await wait(5_000);
  expect(client.closed).toEqual([]);
});

test("forged beats end no connection, and cost it a question every half a second at most", async () => {
  const nats = new FakeNats();
  const joined = nats.connect();
  join(nats, "a", joined);
  const { bus, link } = await afterwards(enter(nats), LISTED_MS);
  const client = await dialled(link);
  let asked = 0;
  nats.fate = (frame, to) => {
    if (to === joined && frame[0] === FrameKind.state) asked += 1;
    return "arrives";
  };
  for (let at = 0; at < 2_000; at += 1) {
    const forged = encodeBeat({ id: "a", run: `forged-${at}`, since: 1, labels: {}, ...IDLE });
    bus.receive({ subject: "exec.a.beat", data: forged, reply: undefined, isUndeliverable: false });
    await wait(1);
  }
  expect(client.closed).toEqual([]);
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThanOrEqual(6);
});

test("what is no beat changes nothing, and a reply subject that is no connection is not answered", async () => {
  const nats = new FakeNats();
  const { bus, link } = await afterwards(enter(nats), LISTED_MS);
  const changes: string[] = [];
  link.watch(({ kind, executor }) => void changes.push(`${kind} ${executor.id}`));
  const before = nats.publishedFrames;
  const beat: Beat = { id: "a", run: "r", since: 1, labels: {}, ...IDLE };
  for (const data of [Buffer.from("{"), Buffer.from("null"), encodeBeat({ ...beat, id: "b" })])
    bus.receive({ subject: "exec.a.beat", data, reply: undefined, isUndeliverable: false });
  for (const reply of ["exec.a.beat", "exec.a.dial", "fleet.call", "_INBOX.other.x", "exec.*.r.c"])
    bus.receive({
      subject: "_INBOX.me.gone",
      data: Buffer.of(FrameKind.state),
      reply,
      isUndeliverable: false,
    });
  expect([changes, ids(link), nats.publishedFrames - before]).toEqual([[], [], 0]);
  bus.receive({
    subject: "_INBOX.me.gone",
    data: Buffer.of(FrameKind.state),
    reply: "exec.a.run.connection",
    isUndeliverable: false,
  });
  expect(nats.publishedFrames - before).toBe(1);
});

interface Entered {
  readonly bus: FakeBus;
  readonly link: FleetLink;
  readonly states: string[];
  /** How `complete` ended. */
  outcome: string;
}

function enter(nats: FakeNats): Entered {
  const bus = nats.connect();
  const states: string[] = [];
  const link = new FleetLink(bus, "_INBOX.me", (state) => void states.push(state));
  const entered: Entered = { bus, link, states, outcome: "pending" };
  link.complete().then(
    () => {
      entered.outcome = "complete";
    },
    (error: Error) => {
      entered.outcome = error.message;
    },
  );
  return entered;
}

async function afterwards<T>(value: T, ms: number): Promise<T> {
  await wait(ms);
  return value;
}

/** A connection to the executor `a`, and why it ended. */
async function dialled(link: FleetLink): Promise<{ readonly closed: (string | undefined)[] }> {
  const closed: (string | undefined)[] = [];
  const dialling = link.dial("a", {});
  await wait(5);
  (await dialling).open({
    message: () => {},
    drain: () => {},
    close: (reason) => void closed.push(reason),
  });
  return { closed };
}

function join(
  nats: FakeNats,
  id: string,
  bus: FakeBus = nats.connect(),
  condition: () => Condition = () => IDLE,
): Membership {
  return new Membership({
    bus,
    id,
    condition,
    admit: async () => ({ accept: () => {} }),
    replaced: () => {},
  });
}

function ids(link: FleetLink): string[] {
  return link.list().map(({ id }) => id);
}
