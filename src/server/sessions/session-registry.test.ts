import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { silentLogger } from "../../base/logger.ts";
import { createRights, FULL_RIGHTS } from "../access/rights.ts";
import { SessionRegistry } from "./session-registry.ts";
import type { SessionHolder } from "./session-registry.ts";
import type { Peer } from "../wire/peer.ts";
import type { Session } from "./session.ts";

const TTL_MS = 1_000;

interface FakeHolder extends SessionHolder {
  readonly peer: Peer & { ended: boolean };
  readonly life: Deferred<boolean>;
  asked: number;
  surrendered: boolean;
}

function holder(principal = "user:ann"): FakeHolder {
  const life = createDeferred<boolean>();
  const made: FakeHolder = {
    peer: { ended: false } as Peer & { ended: boolean },
    principal,
    rights: FULL_RIGHTS,
    life,
    asked: 0,
    surrendered: false,
    isAlive: () => {
      made.asked += 1;
      return life.promise;
    },
    surrender: () => {
      made.surrendered = true;
    },
  };
  return made;
}

/** What a session is attached to, in order; undefined for nothing. */
type Attachments = (Peer | undefined)[];

function createRegistry() {
  const attachments: Attachments = [];
  const owners: unknown[] = [];
  const ended: string[] = [];
  let inside = 0;
  const create = (id: string, owner: unknown): Session => {
    owners.push(owner);
    const session: Partial<Session> = {
      id,
      attach: ({ peer }) => void attachments.push(peer),
      detach: () => void attachments.push(undefined),
      end: async () => void ended.push(id),
    };
    return session as Session;
  };
  const enter = () => {
    inside += 1;
    return () => {
      inside -= 1;
    };
  };
  const sessions = new SessionRegistry({ create, detachedTtlMs: TTL_MS, maxSessions: 10, enter });
  return { sessions, attachments, owners, ended, inside: () => inside };
}

const UNKNOWN = /^unknown session id/;
const ATTACHED = /is already attached to another connection$/;

it("a silent session goes to a connection of the same principal", async () => {
  const { sessions, attachments } = createRegistry();
  const [old, next] = [holder("ann"), holder("ann")];
  const { id } = sessions.open(old);
  const resumed = sessions.resume(id, next);
  old.life.resolve(false);
  expect(await resumed).toBe(sessions.get(id, next));
  expect(old.surrendered).toBe(true);
  expect(attachments).toEqual([old.peer, undefined, next.peer]);
});

it("a session that has a connection is not taken by one of another principal, and nobody is asked", () => {
  const { sessions } = createRegistry();
  const old = holder("ann");
  const { id } = sessions.open(old);
  expect(() => sessions.resume(id, holder("bob"))).toThrow(UNKNOWN);
  expect(() => sessions.resume(id, holder("token:bob"))).toThrow(UNKNOWN);
  expect([old.asked, old.surrendered]).toEqual([0, false]);
});

it("a session without a connection goes only to its own principal, or from one nameless token to another", () => {
  const { sessions } = createRegistry();
  const anns = sessions.open(holder("ann"));
  sessions.detach(anns);
  expect(() => sessions.resume(anns.id, holder("bob"))).toThrow(UNKNOWN);
  expect(() => sessions.get(anns.id, holder("bob"))).toThrow(UNKNOWN);
  expect(sessions.resume(anns.id, holder("ann"))).toBe(anns);
  const nameless = sessions.open(holder("token:one"));
  sessions.detach(nameless);
  expect(() => sessions.resume(nameless.id, holder("ann"))).toThrow(UNKNOWN);
  expect(sessions.resume(nameless.id, holder("token:two"))).toBe(nameless);
});

it("a session goes only to a connection with the same rights, or with all rights", () => {
  const { sessions } = createRegistry();
  const context = { temporaryDirectory: undefined, logger: silentLogger, hiddenPaths: [], fsRoots: [] };
  const observer = { ...holder("ann"), rights: createRights({ preset: "observe" }, context) };
  const reader = { ...holder("ann"), rights: createRights({ preset: "observe", see: ["bob"] }, context) };
  const full = sessions.open(holder("ann"));
  sessions.detach(full);
  expect(() => sessions.resume(full.id, observer)).toThrow(UNKNOWN);
  const seen = sessions.open(observer);
  sessions.detach(seen);
  expect(() => sessions.resume(seen.id, reader)).toThrow(UNKNOWN);
  expect(sessions.resume(seen.id, holder("ann"))).toBe(seen);
});

it("a principal has as many sessions as its rights allow", () => {
  const { sessions } = createRegistry();
  const rights = { ...FULL_RIGHTS, limits: { maxSessions: 1 } };
  sessions.open({ ...holder("ann"), rights });
  expect(() => sessions.open({ ...holder("ann"), rights })).toThrow("this token has too many sessions");
  sessions.open({ ...holder("bob"), rights });
});

it("a session that ends while somebody waits for it is unknown to them", async () => {
  const { sessions } = createRegistry();
  const old = holder();
  const { id } = sessions.open(old);
  const resumed = sessions.resume(id, holder());
  await sessions.endAll(Promise.resolve());
  old.life.resolve(false);
  await expect(resumed).rejects.toThrow(`unknown session id ${id}`);
  expect(old.surrendered).toBe(false);
});

it("a connection that has ended while it waited gets nothing", async () => {
  const { sessions, attachments } = createRegistry();
  const [old, next] = [holder(), holder()];
  const { id } = sessions.open(old);
  const resumed = sessions.resume(id, next);
  next.peer.ended = true;
  old.life.resolve(false);
  await expect(resumed).rejects.toThrow("the connection has ended");
  expect(attachments).toEqual([old.peer]);
});

it("the quicker one keeps a session that two wait for, also when it was free in between", async () => {
  const { sessions } = createRegistry();
  const [old, first, second] = [holder(), holder(), holder()];
  const session = sessions.open(old);
  const waiting = sessions.resume(session.id, second);
  sessions.detach(session);
  expect(sessions.resume(session.id, first)).toBe(session);
  old.life.resolve(false);
  await expect(waiting).rejects.toThrow(ATTACHED);
  expect([first.surrendered, old.surrendered]).toEqual([false, false]);
});

it("a session is made for its owner, who is described with it", () => {
  const { sessions, owners } = createRegistry();
  const [ann, bob] = [holder("ann"), holder("bob")];
  const [first, second] = [sessions.open(ann), sessions.open(bob)];
  sessions.detach(second);
  expect(owners).toEqual([
    { principal: "ann", rights: ann.rights },
    { principal: "bob", rights: bob.rights },
  ]);
  expect([...sessions.described()]).toEqual([
    { session: first, owner: "ann", isConnected: true },
    { session: second, owner: "bob", isConnected: false },
  ]);
  expect([[...sessions], sessions.size]).toEqual([[first, second], 2]);
});

it("a server has as many sessions as it may have, of whomever", () => {
  const { sessions } = createRegistry();
  for (let count = 0; count < 10; count += 1) sessions.open(holder(`user:${count}`));
  expect(() => sessions.open(holder("ann"))).toThrow("the server has too many sessions");
  expect(sessions.size).toBe(10);
});

describe("a session without a connection", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("ends when its time is over, and not before", async () => {
    const { sessions, ended, inside } = createRegistry();
    const session = sessions.open(holder("ann"));
    sessions.detach(session);
    await vi.advanceTimersByTimeAsync(TTL_MS - 1);
    expect([sessions.size, inside()]).toEqual([1, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect([sessions.size, inside(), ended]).toEqual([0, 0, [session.id]]);
  });

  it("does not end once it has a connection again", async () => {
    const { sessions, ended } = createRegistry();
    const session = sessions.open(holder("ann"));
    sessions.detach(session);
    expect(sessions.resume(session.id, holder("ann"))).toBe(session);
    await vi.advanceTimersByTimeAsync(10 * TTL_MS);
    expect([sessions.size, ended]).toEqual([1, []]);
  });

  it("ends once", async () => {
    const { sessions, ended, inside } = createRegistry();
    const session = sessions.open(holder("ann"));
    sessions.detach(session);
    await sessions.endAll(Promise.resolve());
    sessions.detach(session);
    await vi.advanceTimersByTimeAsync(10 * TTL_MS);
    expect([ended, inside(), vi.getTimerCount()]).toEqual([[session.id], 0, 0]);
  });
});
