import { describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { ProcessEvent } from "../../capabilities/process/output/output-log.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import { createRights, FULL_RIGHTS, type Rights } from "../access/rights.ts";
import { rightsContext } from "../access/rights-context.ts";
import { ProcessQuota } from "./process-quota.ts";
import { resolveLimits, type ServerLimits } from "../settings/limits.ts";
import { KeptProcesses } from "./kept-processes.ts";

const REQUEST: StartRequest = { argv: ["program"], cwd: "/", env: new Map(), stdin: "none" };

/** A process that ends on demand. */
function createProcess() {
  const listeners = new Set<(event: ProcessEvent) => void>();
  const state = { nextSeq: 1, exitCode: undefined as number | undefined, closed: false };
  const process: Partial<ManagedProcess> = {
    state: state as ManagedProcess["state"],
    outputBytes: { total: 0, retained: 0 },
    gone: true,
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    dispose: () => end(),
  };
  const happen = (event: object): void => {
    for (const listener of listeners) listener(event as ProcessEvent);
  };
  const exit = (): void => {
    state.exitCode = 0;
    happen({ kind: "exited", seq: 1 });
  };
  const end = (): void => {
    if (state.closed) return;
    exit();
    state.closed = true;
    happen({ kind: "closed", seq: 2 });
  };
  return { process: process as ManagedProcess, exit, end };
}

function createKept(given: Partial<ServerLimits> = {}) {
  const limits = resolveLimits({ maxKeptProcesses: 3, ...given });
  const quota = new ProcessQuota(limits);
  const started: ReturnType<typeof createProcess>[] = [];
  let nextStart: Promise<void> = Promise.resolve();
  const starter = {
    start: async () => {
      await nextStart;
      const created = createProcess();
      started.push(created);
      return created.process;
    },
  } as Partial<ProcessStarter> as ProcessStarter;
  const occupied = { count: 0 };
  const logged: unknown[] = [];
  const kept = new KeptProcesses({
    starter,
    limits,
    quota,
    logger: { ...silentLogger, info: (message, fields) => logged.push([message, fields]) },
    enter: () => {
      occupied.count += 1;
      return () => {
        occupied.count -= 1;
      };
    },
  });
  const start = (principal: string, name: string, replace = false, rights?: Rights): Promise<void> =>
    kept.start(principal, { name, replace }, REQUEST, rights === undefined ? {} : { rights });
  const names = (principal: string): string[] => Array.from(kept.of(principal) ?? [], ([name]) => name);
  const delayNext = (delay: Promise<void>): void => {
    nextStart = delay;
  };
  return { kept, start, names, started, occupied, delayNext, quota, logged };
}

const taken = { code: "ALREADY_EXISTS" };
const full = { code: "LIMIT_REACHED", data: expect.objectContaining({ limit: "maxKeptProcesses" }) };

it("each principal has its own names and its own number of processes", async () => {
  const { kept, start, names } = createKept({ maxKeptProcesses: 2 });
  await start("ann", "web");
  await start("bob", "web");
  await start("ann", "db");
  await expect(start("ann", "more")).rejects.toMatchObject(full);
  await start("bob", "db");
  expect([names("ann"), names("bob"), names("cid")]).toEqual([["web", "db"], ["web", "db"], []]);
  expect(kept.attachment("ann", "web", { mode: "follow", connection: {} })?.entry).toBe(
    kept.of("ann")!.get("web"),
  );
  expect(kept.attachment("cid", "web", { mode: "follow", connection: {} })).toBeUndefined();
});

it("the one that ended first makes room, and none that runs does", async () => {
  const { start, names, started } = createKept();
  for (const name of ["a", "b", "c"]) await start("ann", name);
  await expect(start("ann", "d")).rejects.toMatchObject(full);
  started[2]!.end();
  started[0]!.end();
  await start("ann", "d");
  expect(names("ann")).toEqual(["a", "b", "d"]);
  await start("ann", "e");
  expect(names("ann")).toEqual(["b", "d", "e"]);
  await expect(start("ann", "f")).rejects.toMatchObject(full);
});

it("starts in progress count, and one that fails does not", async () => {
  const { start, names, delayNext, occupied } = createKept({ maxKeptProcesses: 1 });
  delayNext(Promise.reject(new Error("no program")));
  const failing = start("ann", "a");
  await expect(start("ann", "b")).rejects.toMatchObject(full);
  await expect(failing).rejects.toThrow("no program");
  delayNext(Promise.resolve());
  expect([names("ann"), occupied.count]).toEqual([[], 0]);
  await start("ann", "b");
  expect([names("ann"), occupied.count]).toEqual([["b"], 1]);
});

it("an ended process is replaced on request, when the new one runs", async () => {
  const { kept, start, names, started, delayNext } = createKept({ maxKeptProcesses: 1 });
  await start("ann", "a");
  await expect(start("ann", "a", true)).rejects.toMatchObject(taken);
  started[0]!.exit();
  // Something still writes to its output.
  await expect(start("ann", "a", true)).rejects.toThrow("keeps its output open");
  started[0]!.end();
  await expect(start("ann", "a")).rejects.toMatchObject(taken);
  delayNext(Promise.reject(new Error("no program")));
  await expect(start("ann", "a", true)).rejects.toThrow("no program");
  const attached = kept.attachment("ann", "a", { mode: "follow", connection: {} })!;
  expect([attached.isKnown, attached.process]).toEqual([true, started[0]!.process]);
  delayNext(Promise.resolve());
  await start("ann", "a", true);
  expect([attached.isKnown, names("ann"), kept.of("ann")!.get("a")!.process]).toEqual([
    false,
    ["a"],
    started[1]!.process,
  ]);
});

it("a process gets another name, unless its owner uses that one", async () => {
  const { kept, start, names, delayNext, logged } = createKept();
  await start("ann", "a");
  await start("ann", "b");
  await start("bob", "c");
  const entry = kept.of("ann")!.get("a")!;
  const attached = kept.attachment("ann", "a", { mode: "follow", connection: {} })!;
  expect(() => kept.rename("ann", entry, "b")).toThrow("there is already a kept process b");
  let start3 = (): void => {};
  delayNext(new Promise((resolve) => (start3 = resolve)));
  const starting = start("ann", "d");
  expect(() => kept.rename("ann", entry, "d")).toThrow(expect.objectContaining(taken));
  start3();
  await starting;
  kept.rename("ann", entry, "a");
  expect(logged).toEqual([]);
  kept.rename("ann", entry, "c");
  expect([names("ann"), names("bob")]).toEqual([["c", "b", "d"], ["c"]]);
  expect([attached.isKnown, kept.of("ann")!.get("c") === entry]).toEqual([true, true]);
  expect(logged).toEqual([["a kept process was renamed", { principal: "ann", name: "a", to: "c" }]]);
});

it("a name that a renamed process takes was not forgotten", async () => {
  const { kept, start, started } = createKept();
  const ann = { principal: "ann", rights: FULL_RIGHTS };
  await start("ann", "a");
  started[0]!.end();
  kept.of("ann")!.forget("a");
  await start("ann", "b");
  expect(kept.whyForgotten("ann", "a", ann)).toBeDefined();
  kept.rename("ann", kept.of("ann")!.get("b")!, "a");
  expect(kept.whyForgotten("ann", "a", ann)).toBeUndefined();
  started[1]!.end();
  kept.of("ann")!.forget("a");
  expect([kept.whyForgotten("ann", "a", ann), kept.whyForgotten("ann", "b", ann)]).toEqual([
    "it ended, and was forgotten on a client's request",
    undefined,
  ]);
});

it("a name stays with what was started with wider rights, which narrower ones cannot replace", async () => {
  const { kept, start, names, started } = createKept();
  const narrow = createRights({ preset: "sandboxed", policy: "read-only", see: ["bob"] }, rightsContext({}));
  await start("ann", "a", false, FULL_RIGHTS);
  await start("bob", "a", false, FULL_RIGHTS);
  const other = { code: "ALREADY_EXISTS", message: expect.stringContaining("started with other rights") };
  await expect(start("ann", "a", false, narrow)).rejects.toMatchObject(other);
  started[0]!.end();
  await expect(start("ann", "a", true, narrow)).rejects.toMatchObject(other);
  expect(kept.of("ann")!.get("a")!.process).toBe(started[0]!.process);
  await start("ann", "b", false, narrow);
  expect(names("ann")).toEqual(["a", "b"]);
  await start("ann", "a", true, FULL_RIGHTS);
  expect(kept.of("ann")!.get("a")!.process).toBe(started[3]!.process);
});

it("a name alone means the process of another if one's own is out of reach", async () => {
  const { kept, start } = createKept();
  const narrow = createRights(
    { preset: "sandboxed", policy: "read-only", see: ["name:bob"] },
    rightsContext({}),
  );
  await start("name:ann", "a", false, FULL_RIGHTS);
  await start("name:bob", "a", false, FULL_RIGHTS);
  const ownerFor = (rights: Rights): string => kept.ownerOf("a", { principal: "name:ann", rights });
  expect([ownerFor(narrow), ownerFor(FULL_RIGHTS)]).toEqual(["name:bob", "name:ann"]);
});

it("of many starts with one name one succeeds, and the next in line if that fails", async () => {
  const { start, started, delayNext } = createKept();
  delayNext(Promise.reject(new Error("no program")));
  const first = start("ann", "a");
  const others = Array.from({ length: 5 }, () => start("ann", "a"));
  delayNext(Promise.resolve());
  await expect(first).rejects.toThrow("no program");
  const results = await Promise.allSettled(others);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", ...Array(4).fill("rejected")]);
  for (const result of results) if (result.status === "rejected") expect(result.reason).toMatchObject(taken);
  expect(started).toHaveLength(1);
});

it("an ended process is forgotten after its time, and a replaced one takes nothing along", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const { start, names, started } = createKept({ keptProcessRetentionMs: 1000 });
    await start("ann", "a");
    await start("ann", "b");
    started[0]!.end();
    vi.advanceTimersByTime(600);
    await start("ann", "a", true);
    started[1]!.end();
    vi.advanceTimersByTime(600);
    expect(names("ann")).toEqual(["b", "a"]);
    started[2]!.end();
    vi.advanceTimersByTime(500);
    expect(names("ann")).toEqual(["a"]);
    vi.advanceTimersByTime(500);
    expect(names("ann")).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

it("slots are free again: of ended processes, of failed starts, and of all at the end", async () => {
  const { kept, start, started, delayNext, quota } = createKept({ maxProcesses: 2, maxKeptProcesses: 256 });
  const take = quota.share({ principal: "ann", rights: FULL_RIGHTS });
  const isFull = (): boolean => {
    try {
      take().free();
      return false;
    } catch {
      return true;
    }
  };
  delayNext(Promise.reject(new Error("no program")));
  await expect(start("ann", "a")).rejects.toThrow("no program");
  delayNext(Promise.resolve());
  for (let round = 0; round < 5; round += 1) {
    await start("ann", "a", true);
    await start("bob", "a", true);
    expect(isFull()).toBe(true);
    await expect(start("cid", "a")).rejects.toMatchObject({
      data: expect.objectContaining({ limit: "maxProcesses" }),
    });
    for (const { end } of started) end();
    expect(isFull()).toBe(false);
  }
  await start("ann", "b");
  await start("bob", "b");
  await kept.end();
  expect(isFull()).toBe(false);
});

it("the server is occupied as long as a kept process can be read, also after its end", async () => {
  const { kept, start, started, occupied } = createKept();
  await start("ann", "a");
  await start("ann", "b");
  await start("bob", "a");
  expect(occupied.count).toBe(3);
  started[0]!.exit();
  expect(occupied.count).toBe(3);
  started[0]!.end();
  expect(occupied.count).toBe(3);
  kept.of("ann")!.forget("a");
  expect(occupied.count).toBe(2);
  await kept.end();
  expect(occupied.count).toBe(0);
});

it("nothing starts once the server is closing", async () => {
  const { kept, start } = createKept();
  await start("ann", "a");
  const ending = kept.end();
  await expect(start("ann", "b")).rejects.toThrow("the server is closing");
  await expect(start("bob", "b")).rejects.toThrow("the server is closing");
  await ending;
});

it("principals that have nothing leave nothing behind", async () => {
  const { kept, start, started } = createKept({ keptProcessRetentionMs: 0 });
  for (let number = 0; number < 5; number += 1) {
    await start(`p${number}`, "a");
    started[number]!.end();
    await expect.poll(() => kept.of(`p${number}`)?.size).toBe(0);
  }
  await start("last", "a");
  expect([kept.of("p0"), kept.of("p3"), kept.of("last")?.size]).toEqual([undefined, undefined, 1]);
});

describe("a process that was forgotten", () => {
  const ann = { principal: "ann", rights: FULL_RIGHTS };
  const bob = { principal: "bob", rights: FULL_RIGHTS };

  it("is known to have been too many", async () => {
    const { kept, start, started, logged } = createKept({ maxKeptProcesses: 1 });
    await start("ann", "a");
    started[0]!.end();
    await start("ann", "b");
    expect(kept.whyForgotten("ann", "a", ann)).toBe(
      "it ended, and was forgotten to make room for newer ones (maxKeptProcesses)",
    );
    expect(logged).toEqual([
      ["a kept process was forgotten", { principal: "ann", name: "a", cause: "number" }],
    ]);
  });

  it("is known to have been too old", async () => {
    vi.useFakeTimers();
    try {
      const { kept, start, started } = createKept({ keptProcessRetentionMs: 60_000 });
      await start("ann", "a");
      started[0]!.end();
      await vi.advanceTimersByTimeAsync(60_001);
      expect(kept.whyForgotten("ann", "a", ann)).toBe(
        "it ended, and was forgotten after its retention time (keptProcessRetentionMs)",
      );
    } finally {
      vi.useRealTimers();
    }
  });

  it("is known to have been removed by a client, until its name is used again", async () => {
    const { kept, start, started } = createKept();
    await start("ann", "a");
    started[0]!.end();
    kept.of("ann")!.forget("a");
    expect(kept.whyForgotten("ann", "a", ann)).toBe("it ended, and was forgotten on a client's request");
    await start("ann", "a");
    expect(kept.whyForgotten("ann", "a", ann)).toBeUndefined();
  });

  it("is known to nobody who could not see it", async () => {
    const { kept, start, started } = createKept();
    const files = createRights({ preset: "files", roots: ["/srv"] }, rightsContext({}));
    await start("ann", "a");
    started[0]!.end();
    kept.of("ann")!.forget("a");
    expect(kept.whyForgotten("ann", "a", bob)).toBeUndefined();
    expect(kept.whyForgotten("ann", "a", { principal: "ann", rights: files })).toBeUndefined();
    expect(kept.whyForgotten("ann", "never", ann)).toBeUndefined();
  });

  it("is one of the last 4096", async () => {
    const { kept, start, started } = createKept({ maxKeptProcesses: 1 });
    for (let count = 0; count <= 4097; count += 1) {
      await start("ann", `p${count}`);
      started[count]!.end();
    }
    const known = (name: string): boolean => kept.whyForgotten("ann", name, ann) !== undefined;
    expect([known("p0"), known("p1"), known("p4096")]).toEqual([false, true, true]);
  });
});
