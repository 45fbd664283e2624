import { describe, expect, it } from "vitest";
import type { NumberedEvent, ProcessEvent } from "./process-events.ts";
import { type Followed, type Reread, Subscription } from "./subscription.ts";

const MIB = 1024 * 1024;

function output(seq: number, size = 1): ProcessEvent {
  return { seq, kind: "output", stream: "stdout", bytes: new Uint8Array(size) };
}

/** A process that a subscription follows, and what was asked of it. */
function follow(readAgain: Followed["readAgain"] = () => expect.unreachable(), readsBack = false) {
  const asked: string[] = [];
  const followed: Followed = {
    firstSeq: 1,
    readsBack,
    hold: (on) => void asked.push(on ? "hold" : "go on"),
    readAgain: (afterSeq, options) => {
      asked.push(`read after ${afterSeq}${options.fromDisk ? " on disk" : ""}`);
      return readAgain(afterSeq, options);
    },
    unsubscribe: () => void asked.push("unsubscribe"),
  };
  return { asked, followed };
}

const answer = (events: readonly ProcessEvent[], isPart = false): Reread => ({
  events: events as NumberedEvent[],
  isPart,
});

const gap = (fromSeq: number, toSeq: number): ProcessEvent => ({ kind: "gap", seq: toSeq, fromSeq, toSeq });

/** Texts of as many events as there are, at most. */
async function read(subscription: Subscription, count: number): Promise<string[]> {
  const texts: string[] = [];
  for (let left = count; left > 0; left -= 1) {
    const { value } = await subscription.next();
    texts.push(value.kind === "gap" ? `gap ${value.fromSeq}-${value.toSeq}` : `${value.seq}`);
  }
  return texts;
}

describe("a subscription to a process whose output the server has on disk", () => {
  it("reads what was not sent, in parts, and then goes on with what was sent", async () => {
    const parts = [answer([output(1), output(2)], true), answer([output(3)], true), answer([output(4)])];
    const { asked, followed } = follow(async () => parts.shift()!, true);
    const subscription = new Subscription(followed, [gap(1, 3), output(4), output(5)]);
    expect(await read(subscription, 5)).toEqual(["1", "2", "3", "4", "5"]);
    expect(asked).toEqual(["read after 0 on disk", "read after 2 on disk", "read after 3 on disk"]);
  });

  it("reports a gap that is on disk, too, once", async () => {
    const { asked, followed } = follow(async () => answer([output(1), gap(2, 3), output(4)]), true);
    const subscription = new Subscription(followed, [gap(1, 3), output(4), output(5)]);
    expect(await read(subscription, 4)).toEqual(["1", "gap 2-3", "4", "5"]);
    expect(asked).toEqual(["read after 0 on disk"]);
  });

  it("gives a reader that wants what is newest the gap, and asks only for what memory has", async () => {
    const { asked, followed } = follow(async () => answer([output(4), output(5)]), true);
    const subscription = new Subscription(followed, [gap(1, 3), output(4)], { skipMissed: true });
    expect(await read(subscription, 2)).toEqual(["gap 1-3", "4"]);
    expect(asked).toEqual([]);
    const late = new Subscription(followed, [output(5)], { skipMissed: true });
    expect(await read(late, 2)).toEqual(["4", "5"]);
    expect(asked).toEqual(["read after 0"]);
  });

  it("does not ask for the same part again because a reader wants other streams", async () => {
    const parts = [answer([output(1), output(2)], true), answer([output(3)])];
    const { asked, followed } = follow(async () => parts.shift()!, true);
    const subscription = new Subscription(followed, [gap(1, 3)], { streams: ["stderr"] });
    subscription.push({ kind: "closed", seq: 4 });
    expect((await subscription.next()).value).toEqual({ kind: "closed", seq: 4 });
    expect(asked.slice(0, 2)).toEqual(["read after 0 on disk", "read after 2 on disk"]);
  });

  it("does not ask again after an answer that says there is more and has nothing", async () => {
    const { asked, followed } = follow(async () => answer([], true), true);
    const subscription = new Subscription(followed, [gap(1, 3), output(4)]);
    expect(await read(subscription, 1)).toEqual(["4"]);
    expect(asked).toEqual(["read after 0 on disk"]);
  });
});

describe("a subscription", () => {
  it("ends with what is wrong if missing events cannot be read again", async () => {
    const { asked, followed } = follow(() => Promise.reject(new Error("lost")));
    const subscription = new Subscription(followed, [output(2)]);
    await expect(subscription.next()).rejects.toThrow("lost");
    expect(asked).toEqual(["read after 0", "unsubscribe"]);
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });

  it("reads again what its history has lost, and has each event once", async () => {
    const { asked, followed } = follow(async () => answer([output(1), output(2)]));
    const subscription = new Subscription(followed, [output(2), output(3)]);
    const seqs: number[] = [];
    for (let left = 3; left > 0; left -= 1) seqs.push((await subscription.next()).value.seq);
    expect(seqs).toEqual([1, 2, 3]);
    expect(asked).toEqual(["read after 0"]);
  });

  it("holds the process while much is unread, and lets it go on when it ends", async () => {
    const { asked, followed } = follow();
    const subscription = new Subscription(followed, []);
    subscription.push(output(1, MIB - 1));
    expect(asked).toEqual([]);
    subscription.push(output(2, MIB));
    expect(asked).toEqual(["hold"]);
    await subscription.next();
    expect(asked).toEqual(["hold"]);
    await subscription.next();
    expect(asked).toEqual(["hold", "go on"]);
    subscription.push(output(3, MIB));
    await subscription.return();
    expect(asked).toEqual(["hold", "go on", "hold", "go on", "unsubscribe"]);
  });

  it("says how many events it was too slow for", async () => {
    const { asked, followed } = follow(async () => answer([]));
    const lags: number[] = [];
    const subscription = new Subscription(followed, [], { onLag: (events) => void lags.push(events) });
    for (let seq = 1; seq <= 65_536; seq += 1) subscription.push(output(seq));
    expect(lags).toEqual([]);
    subscription.push(output(65_537));
    expect((await subscription.next()).value).toMatchObject({ seq: 65_537 });
    expect(lags).toEqual([65_536]);
    expect(asked).toContain("read after 0");
  });

  it("is left when its signal is aborted", async () => {
    const { asked, followed } = follow();
    const stop = new AbortController();
    const next = new Subscription(followed, [], { signal: stop.signal }).next();
    stop.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    expect(asked).toEqual(["unsubscribe"]);
  });
});
