import { describe, expect, it } from "vitest";
import type { ProcessEvent } from "./process-events.ts";
import { type Followed, Subscription } from "./subscription.ts";

const MIB = 1024 * 1024;

function output(seq: number, size = 1): ProcessEvent {
  return { seq, kind: "output", stream: "stdout", bytes: new Uint8Array(size) };
}

/** A process that a subscription follows, and what was asked of it. */
function follow(readAgain: Followed["readAgain"] = () => expect.unreachable()) {
  const asked: string[] = [];
  const followed: Followed = {
    firstSeq: 1,
    hold: (on) => void asked.push(on ? "hold" : "go on"),
    readAgain: (afterSeq) => {
      asked.push(`read after ${afterSeq}`);
      return readAgain(afterSeq);
    },
    unsubscribe: () => void asked.push("unsubscribe"),
  };
  return { asked, followed };
}

describe("a subscription", () => {
  it("ends with what is wrong if missing events cannot be read again", async () => {
    const { asked, followed } = follow(() => Promise.reject(new Error("lost")));
    const subscription = new Subscription(followed, [output(2)]);
    await expect(subscription.next()).rejects.toThrow("lost");
    expect(asked).toEqual(["read after 0", "unsubscribe"]);
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });

  it("reads again what its history has lost, and has each event once", async () => {
    const { asked, followed } = follow(async () => [output(1), output(2)] as never);
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
    const { asked, followed } = follow(async () => []);
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
