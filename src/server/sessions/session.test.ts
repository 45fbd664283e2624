import { expect, it } from "vitest";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { FULL_RIGHTS } from "../access/rights.ts";
import type { Peer } from "../connection/peer.ts";
import type { ProcessEntry, ProcessTable } from "../processes/process-table.ts";
import { Attachment } from "./attachment.ts";
import { Session } from "./session.ts";

const MAX_ATTACHMENTS = 1024;

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
  session.attach({ peer: peer as Peer, principal: "user:ann", rights: FULL_RIGHTS });
  return session;
}

/** A process of another session, which forgets it on demand. */
function createGuest(): { guest: Attachment; forget(): void; readonly listeners: () => number } {
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
  const table: Pick<ProcessTable, "get" | "forget"> = {
    get: () => (known ? entry : undefined),
    forget: () => false,
  };
  return {
    guest: new Attachment({ table, key: "p", entry }),
    forget: () => {
      known = false;
    },
    listeners: () => listeners,
  };
}

function attachAs(id: string, { guest }: { guest: Attachment }, session: Session): void {
  session.checkAttachments();
  session.followAttached(id, guest);
}

it(`a connection follows ${MAX_ATTACHMENTS} processes of others and no more, until one of them is gone`, () => {
  const session = createSession();
  const guests = Array.from({ length: MAX_ATTACHMENTS }, createGuest);
  for (const [index, guest] of guests.entries()) attachAs(`g${index}`, guest, session);
  const refused = createGuest();
  expect(() => attachAs("more", refused, session)).toThrow(
    "process/attach: the connection has 1024 attached processes",
  );
  expect(refused.listeners()).toBe(0);
  guests[7]?.forget();
  attachAs("more", refused, session);
  expect([refused.listeners(), guests[7]?.listeners()]).toEqual([1, 0]);
  expect(() => attachAs("and more", createGuest(), session)).toThrow("1024");
});

it("nobody is followed for a connection that is gone", () => {
  const session = createSession();
  const { guest, listeners } = createGuest();
  session.followAttached("g", guest);
  session.detach();
  expect([listeners(), session.attached("g")]).toEqual([0, undefined]);
});
