import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import { FULL_RIGHTS } from "../access/rights.ts";
import type { Peer } from "../wire/peer.ts";
import type { ProcessSlot } from "./process-quota.ts";
import type { ProcessEntry, ProcessTable } from "./process-table.ts";
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
    state: {
      nextSeq: 1,
      exitCode: undefined,
      report: undefined,
      sandboxDenied: false,
      closed: false,
      exitSeq: undefined,
    },
    listen: () => {
      listeners += 1;
      return () => {
        listeners -= 1;
      };
    },
  };
  const entry = { id: "p", process } as ProcessEntry;
  const table: Pick<ProcessTable, "get" | "forget"> = {
    get: () => (known ? entry : undefined),
    forget: () => false,
  };
  return {
    guest: new Attachment({ table, entry }),
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

const DETAILS = { argv: ["x"], cwd: "/", env: new Map<string, string>(), stdin: "none" } as const;

/** A session with processes that the test ends, and connections whose pings it answers. */
function createOwner() {
  const [processes, pings, sent]: [FakeProcess[], (() => void)[], string[]] = [[], [], []];
  const peer = {
    queuedBytes: 0,
    eventSender: (processId: string) => (event: ProcessEvent) => void sent.push(`${processId} ${event.kind}`),
    ping: (answered: () => void) => pings.push(answered) > 0,
  };
  const session = new Session("s", {
    starter: {
      start: async () => {
        processes.push(new FakeProcess());
        return processes.at(-1);
      },
    } as unknown as ProcessStarter,
    retentionMs: 1_000_000,
    maxUnheard: 10,
    takeSlot: () => ({ closed: () => {}, free: () => {} }) as unknown as ProcessSlot,
  });
  const attach = (): void =>
    session.attach({ peer: peer as Partial<Peer> as Peer, principal: "user:ann", rights: FULL_RIGHTS });
  const start = async (id: string): Promise<FakeProcess> => {
    await session.processes.start(id, DETAILS);
    return processes.at(-1)!;
  };
  return { session, attach, start, pings, sent };
}

class FakeProcess {
  state = { nextSeq: 1, exitCode: undefined as number | undefined, closed: false };
  readonly outputBytes = { retained: 0 };
  gone = true;
  readonly #listeners = new Set<(event: ProcessEvent) => void>();

  listen(listener: (event: ProcessEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  exit(): void {
    this.state.exitCode = 0;
    this.#tell("exited");
  }

  close(): void {
    this.state.closed = true;
    this.#tell("closed");
  }

  dispose(): void {
    if (!this.state.closed) this.close();
  }

  #tell(kind: "exited" | "closed"): void {
    for (const listener of this.#listeners) listener({ kind, seq: 1 } as ProcessEvent);
  }
}

it("a process runs from the end of its start to its exit", async () => {
  const { session, start } = createOwner();
  const starting = start("p");
  expect([session.isRunning("p"), session.isRunning("unknown")]).toEqual([false, false]);
  const process = await starting;
  await session.starting("p");
  expect(session.isRunning("p")).toBe(true);
  process.exit();
  expect(session.isRunning("p")).toBe(false);
});

it("a process of others runs, too, and does not while a kept one starts under its id", async () => {
  const session = createSession();
  session.followAttached("g", createGuest().guest);
  expect(session.isRunning("g")).toBe(true);
  const kept = createDeferred<void>();
  session.startsKept("g", kept.promise);
  expect(session.isRunning("g")).toBe(false);
  kept.reject(new Error("no such program"));
  await session.starting("g");
  expect([session.isRunning("g"), session.starting("g")]).toEqual([true, undefined]);
});

describe("an end that a client may not have read", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is kept for its next connection, and forgotten once that has read it", async () => {
    const { session, attach, start, pings, sent } = createOwner();
    attach();
    (await start("p")).close();
    expect(sent).toEqual(["p closed"]);
    vi.advanceTimersByTime(1_000);
    session.detach();
    pings.shift()!();
    expect(session.processes.forget("p")).toBe(false);
    attach();
    vi.advanceTimersByTime(1_000);
    expect(session.processes.forget("p")).toBe(false);
    pings.shift()!();
    expect(session.processes.forget("p")).toBe(true);
  });

  it("counts as read by a client that does not want the events", async () => {
    const { session, attach, start, pings, sent } = createOwner();
    attach();
    const process = await start("p");
    session.unfollow("p");
    process.close();
    vi.advanceTimersByTime(1_000);
    pings.shift()!();
    expect([sent, session.processes.forget("p")]).toEqual([[], true]);
  });

  it("is kept while there is no connection", async () => {
    const { session, attach, start, pings } = createOwner();
    (await start("p")).close();
    vi.advanceTimersByTime(1_000);
    expect([pings.length, session.processes.forget("p")]).toEqual([0, false]);
    attach();
    vi.advanceTimersByTime(1_000);
    pings.shift()!();
    expect(session.processes.forget("p")).toBe(true);
  });
});

it("a process that runs is followed by the next connection, and by none after the last", async () => {
  const { session, attach, start, sent } = createOwner();
  const process = await start("p");
  expect([session.isFollowed("p"), session.setFlow("p", { paused: true })]).toEqual([false, false]);
  attach();
  expect([session.isFollowed("p"), session.setFlow("p", { paused: true })]).toEqual([true, true]);
  process.exit();
  expect(sent).toEqual([]);
  session.detach();
  expect([session.isFollowed("p"), session.setFlow("p", { paused: false })]).toEqual([false, false]);
  attach();
  process.close();
  expect(sent).toEqual(["p closed"]);
  await session.end();
  expect([session.isFollowed("p"), session.processes.size]).toEqual([false, 0]);
});
