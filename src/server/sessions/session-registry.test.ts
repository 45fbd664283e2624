import { expect, it } from "vitest";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { silentLogger } from "../../base/logger.ts";
import { createRights, FULL_RIGHTS } from "../access/rights.ts";
import { SessionRegistry } from "./session-registry.ts";
import type { SessionHolder } from "./session-registry.ts";
import type { Peer } from "../connection/peer.ts";
import type { Session } from "./session.ts";

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

function createRegistry(): { sessions: SessionRegistry; attachments: Attachments } {
  const attachments: Attachments = [];
  const create = (id: string): Session => {
    const session: Partial<Session> = {
      id,
      attach: ({ peer }) => void attachments.push(peer),
      detach: () => void attachments.push(undefined),
      end: async () => {},
    };
    return session as Session;
  };
  return { sessions: new SessionRegistry({ create, detachedTtlMs: 1000, maxSessions: 10 }), attachments };
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
