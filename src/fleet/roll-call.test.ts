import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { type FakeBus, FakeNats } from "../../test/fixtures/fake-bus.ts";
import { useMovedClock } from "../../test/fixtures/moved-clock.ts";
import { Mailboxes } from "./mailboxes.ts";
import { type Condition, Membership } from "./membership.ts";
import { Roster } from "./roster.ts";

const wait = useMovedClock();
const IDLE: Condition = { running: 0, free: 4, load: 0.5, state: "ready" };

test("an executor that answers a call all the time keeps nobody from the list for long", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  const bus = nats.connect();
  bus.subscribe("fleet.call", ({ reply }) => {
    const timer = setInterval(() => bus.publish(reply!, Buffer.alloc(0)), 10);
    setTimeout(() => clearInterval(timer), 60_000);
  });
  const { roster, isReady } = joinAndList(nats);
  await wait(1_000);
  expect(isReady()).toBe(false);
  await wait(2_100);
  expect(isReady()).toBe(true);
  expect(roster.list().map(({ id }) => id)).toEqual(["a"]);
});

test("an executor that pretends to be NATS and reports no executors hides none", async () => {
  const nats = new FakeNats();
  const eve = nats.connect();
  const { bus, roster, isReady } = joinAndList(nats, () => {
    eve.subscribe("fleet.call", ({ reply }) =>
      bus.receive({ subject: reply!, data: Buffer.alloc(0), reply: undefined, isUndeliverable: true }),
    );
    const far = nats.connect();
    // The call and its answer take longer than those of the liar.
    far.subscribe("fleet.call", () => void setTimeout(() => join(nats, "far"), 30));
  });
  await wait(20);
  expect(isReady()).toBe(false);
  await wait(300);
  expect(isReady()).toBe(true);
  expect(roster.list().map(({ id }) => id)).toEqual(["far"]);
});

test("a program that was suspended reads the answers that came meanwhile before the list is complete", async () => {
  for (const near of [true, false]) {
    const nats = new FakeNats();
    if (near) join(nats, "near");
    const far = nats.connect();
    let caller = "";
    far.subscribe("fleet.call", ({ reply }) => {
      caller = reply!;
    });
    const { bus, isReady } = joinAndList(nats);
    await wait(20);
    // When a program continues, due timers run first, then it reads what it has received.
    vi.advanceTimersByTime(1_500);
    bus.receive({ subject: caller, data: Buffer.alloc(0), reply: undefined, isUndeliverable: false });
    await nextTurn();
    await wait(10);
    expect(isReady()).toBe(false);
    await wait(300);
    expect(isReady()).toBe(true);
  }
});

test("many calls at once are answered together, each caller once", async () => {
  const nats = new FakeNats();
  join(nats, "a");
  await wait(100);
  const bus = nats.connect();
  let beats = 0;
  const answers = new Map<string, number>();
  bus.subscribe("exec.*.beat", () => void (beats += 1));
  bus.subscribe(
    "_INBOX.caller.*",
    ({ subject }) => void answers.set(subject, (answers.get(subject) ?? 0) + 1),
  );
  for (let at = 0; at < 500; at += 1) bus.publish("fleet.call", Buffer.alloc(0), `_INBOX.caller.n${at}`);
  await wait(40);
  expect(beats).toBe(2);
  expect([answers.size, Math.max(...answers.values())]).toEqual([500, 1]);
  // A single one is answered at once.
  await wait(100);
  bus.publish("fleet.call", Buffer.alloc(0), "_INBOX.caller.last");
  await wait(3);
  expect(answers.get("_INBOX.caller.last")).toBe(1);
});

function join(nats: FakeNats, id: string): Membership {
  return new Membership({
    bus: nats.connect(),
    id,
    condition: () => IDLE,
    admit: async () => ({ refusal: "no", status: 503 }),
    replaced: () => {},
  });
}

/** Lists the fleet. An executor that joins in `before` receives its call. */
function joinAndList(
  nats: FakeNats,
  before: () => void = () => {},
): { bus: FakeBus; roster: Roster; isReady: () => boolean } {
  const bus = nats.connect();
  before();
  const roster = new Roster(bus, new Mailboxes(bus, "_INBOX.looker", () => false));
  let ready = false;
  void roster.ready.then(() => {
    ready = true;
  });
  return { bus, roster, isReady: () => ready };
}
