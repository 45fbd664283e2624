import { expect, it } from "vitest";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { Peer } from "../connection/peer.ts";
import type { ProcessEntry, ProcessTable } from "../processes/process-table.ts";
import { type Guest, Session } from "./session.ts";

const MAX_GUESTS = 1024;

function createSession(): Session {
  const session = new Session("s", {
    starter: {} as ProcessStarter,
    retentionMs: 0,
    maxUnheard: 0,
    takeSlot: () => {
      throw new Error("no place is needed");
    },
  });
  const peer: Partial<Peer> = { queuedBytes: 0, eventSender: () => () => {}, ping: () => false };
  session.attach(peer as Peer);
  return session;
}

/** A process of another session, which forgets it on demand. */
function createGuest(): { guest: Guest; forget(): void; readonly listeners: () => number } {
  let known = true;
  let listeners = 0;
  const process: Partial<ManagedProcess> = {
    state: { nextSeq: 1, exitCode: undefined, report: undefined, sandboxDenied: false, closed: false },
    listen: () => {
      listeners += 1;
      return () => {
        listeners -= 1;
      };
    },
  };
  const entry = { process } as ProcessEntry;
  const processes: Partial<ProcessTable> = { get: () => (known ? entry : undefined) };
  const owner: Partial<Session> = { processes: processes as ProcessTable };
  return {
    guest: { owner: owner as Session, processId: "p", entry },
    forget: () => {
      known = false;
    },
    listeners: () => listeners,
  };
}

it(`a connection follows ${MAX_GUESTS} processes of others and no more, until one of them is gone`, () => {
  const session = createSession();
  const guests = Array.from({ length: MAX_GUESTS }, createGuest);
  for (const [index, { guest }] of guests.entries()) session.followGuest(`g${index}`, guest, undefined);
  const refused = createGuest();
  expect(() => session.followGuest("more", refused.guest, undefined)).toThrow(
    "process/attach: the connection has 1024 attached processes",
  );
  expect(refused.listeners()).toBe(0);
  guests[7]?.forget();
  session.followGuest("more", refused.guest, undefined);
  expect([refused.listeners(), guests[7]?.listeners()]).toEqual([1, 0]);
  expect(() => session.followGuest("and more", createGuest().guest, undefined)).toThrow("1024");
});

it("nobody is followed for a connection that is gone", () => {
  const session = createSession();
  const { guest, listeners } = createGuest();
  session.followGuest("g", guest, undefined);
  session.detach();
  expect([listeners(), session.guest("g")]).toEqual([0, undefined]);
});
