import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import type { StartRequest } from "../../capabilities/process/start-request.ts";
import { ViewChangedError } from "../../capabilities/sandbox/bubblewrap/pinned-paths.ts";
import type { Confinement } from "../../capabilities/sandbox/sandbox.ts";
import type { ProcessSlot } from "./process-quota.ts";
import { ProcessTable } from "./process-table.ts";

const RETENTION_MS = 1_000;
const REQUEST: StartRequest = { argv: ["x"], cwd: "/", env: new Map(), stdin: "none" };

type Listener = Parameters<ManagedProcess["listen"]>[0];

/** What the table sees of a process. */
class FakeProcess {
  readonly #listeners: Listener[] = [];
  readonly state = { closed: false };
  readonly outputBytes = { retained: 7 };
  /** Nothing that it started is left. */
  gone = false;
  disposed = 0;
  /** Times that its output was removed from the disk. */
  removals = 0;
  readonly spool = { remove: () => void (this.removals += 1) };

  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  dispose(): void {
    this.disposed += 1;
    if (!this.state.closed) this.close();
  }

  exit(): void {
    this.#tell("exited");
  }

  close(): void {
    this.state.closed = true;
    this.#tell("closed");
  }

  #tell(kind: "exited" | "closed"): void {
    for (const listener of this.#listeners) listener({ kind } as Parameters<Listener>[0]);
  }
}

class FakeSlot {
  readonly calls: string[] = [];
  closed(bytes: number): void {
    this.calls.push(`closed with ${bytes}`);
  }
  free(): void {
    this.calls.push("freed");
  }
}

function confinement(view: object, network = "full"): Confinement {
  return { view, network } as Confinement;
}

function create(maxUnheard = 100, maxHeard?: number) {
  const processes: FakeProcess[] = [];
  const slots: FakeSlot[] = [];
  const [started, closed]: [string[], string[]] = [[], []];
  const requests: StartRequest[] = [];
  let failure: Error | undefined;
  const failures: Error[] = [];
  const starter = {
    start: async (request: StartRequest) => {
      requests.push(request);
      const next = failures.shift() ?? failure;
      if (next !== undefined) throw next;
      processes.push(new FakeProcess());
      return processes.at(-1);
    },
  } as unknown as ProcessStarter;
  const table = new ProcessTable({
    starter,
    retentionMs: RETENTION_MS,
    maxUnheard,
    ...(maxHeard === undefined ? {} : { maxHeard }),
    takeSlot: () => {
      slots.push(new FakeSlot());
      return slots.at(-1) as unknown as ProcessSlot;
    },
    started: (processId) => void started.push(`${processId} of ${table.size}`),
    closed: (processId) => void closed.push(processId),
  });
  const start = async (id: string, key?: string): Promise<FakeProcess> => {
    await table.start(id, REQUEST, key === undefined ? {} : { idempotency: { key, body: id } });
    return processes.at(-1)!;
  };
  return {
    table,
    start,
    slots,
    started,
    closed,
    requests,
    process: () => processes.at(-1)!,
    fail: (error: Error) => (failure = error),
    failOnce: (error: Error) => failures.push(error),
  };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("what a forgotten process has left running is killed with the table", async () => {
  const { table, start } = create();
  const [lingering, gone] = [await start("lingering"), await start("gone")];
  gone.gone = true;
  for (const process of [lingering, gone]) process.close();
  for (const id of ["lingering", "gone"]) {
    table.heard(table.get(id)!);
    expect(table.forget(id)).toBe(true);
  }
  expect(table.size).toBe(0);
  await table.killAll();
  expect([lingering.disposed, gone.disposed]).toEqual([1, 0]);
});

it("leftovers that have ended meanwhile are let go when another process closes", async () => {
  const { table, start } = create();
  const [ended, left, other] = [await start("ended"), await start("left"), await start("other")];
  for (const [id, process] of [
    ["ended", ended],
    ["left", left],
  ] as const) {
    process.close();
    table.heard(table.get(id)!);
    table.forget(id);
  }
  ended.gone = true;
  other.close();
  await table.killAll();
  expect([ended.disposed, left.disposed]).toEqual([0, 1]);
});

it("a closed process stays until its client has heard of it, and for a while after that", async () => {
  const { table, start, slots, closed } = create();
  (await start("p", "key")).close();
  expect(closed).toEqual(["p"]);
  vi.advanceTimersByTime(10 * RETENTION_MS);
  expect([table.get("p") !== undefined, table.forget("p")]).toEqual([true, false]);
  table.heard(table.get("p")!);
  vi.advanceTimersByTime(RETENTION_MS - 1);
  expect([table.get("p") !== undefined, table.startedWith("key")]).toEqual([
    true,
    { processId: "p", body: "p" },
  ]);
  vi.advanceTimersByTime(1);
  expect([table.get("p"), table.startedWith("key"), slots[0]!.calls]).toEqual([
    undefined,
    undefined,
    ["closed with 7", "freed"],
  ]);
});

it("a renamed process keeps its turn, its key and its time to be forgotten", async () => {
  const { table, start, closed } = create();
  for (const id of ["a", "b", "c"]) await start(id, `key of ${id}`);
  const entry = table.get("a")!;
  table.rename(entry, "z");
  expect(Array.from(table, ([id]) => id)).toEqual(["z", "b", "c"]);
  expect([table.get("a"), table.get("z"), table.size]).toEqual([undefined, entry, 3]);
  expect([table.startedWith("key of a"), table.startedWith("key of b")]).toEqual([
    { processId: "z", body: "a" },
    { processId: "b", body: "b" },
  ]);
  (entry.process as unknown as FakeProcess).close();
  expect(closed).toEqual(["z"]);
  table.heard(entry);
  await start("a");
  vi.advanceTimersByTime(RETENTION_MS);
  expect(Array.from(table, ([id]) => id)).toEqual(["b", "c", "a"]);
  expect(table.startedWith("key of a")).toBeUndefined();
});

it("processes are forgotten in the order in which their ends were heard, by one timer", async () => {
  const { table, start } = create();
  for (const id of ["a", "b"]) (await start(id)).close();
  table.heard(table.get("b")!);
  vi.advanceTimersByTime(RETENTION_MS / 2);
  table.heard(table.get("a")!);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(RETENTION_MS / 2);
  expect([...table].map(([id]) => id)).toEqual(["a"]);
  vi.advanceTimersByTime(RETENTION_MS / 2);
  expect(table.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

it("beyond so many unheard ends the oldest counts as heard", async () => {
  const { table, start } = create(1);
  for (const id of ["a", "b"]) (await start(id)).close();
  expect([table.forget("b"), table.forgetOldest(), table.forgetOldest()]).toEqual([false, true, false]);
  expect([...table].map(([id]) => id)).toEqual(["b"]);
});

it("counts what has not closed, and frees the slot and the key of a start that fails", async () => {
  const { table, start, slots, fail } = create();
  const process = await start("p");
  const starting = table.start("q", REQUEST);
  expect(table.unclosed).toBe(2);
  await starting;
  process.close();
  expect(table.unclosed).toBe(1);
  fail(new Error("no such program"));
  await expect(start("r", "key")).rejects.toThrow("no such program");
  await table.starting("r");
  expect([table.unclosed, table.startedWith("key"), slots[2]!.calls, table.starting("r")]).toEqual([
    1,
    undefined,
    ["freed"],
    undefined,
  ]);
});

it("killing all ends what runs, also what is still being started, and frees every slot", async () => {
  const { table, start, slots } = create();
  const running = await start("p");
  const starting = start("q");
  await table.killAll();
  const late = await starting;
  expect([running.disposed, late.disposed > 0, table.size]).toEqual([1, true, 0]);
  expect(slots.map(({ calls }) => calls.at(-1))).toEqual(["freed", "freed"]);
  expect(vi.getTimerCount()).toBe(0);
});

it("a start is in progress until the process is in the table, which is reported in the same step", async () => {
  const { table, started } = create();
  const steps: unknown[] = [];
  const start = table.start("p", REQUEST, {
    observe: (_, { argv, isConfined }) => void steps.push(["observed", argv, isConfined, [...started]]),
    started: () => void steps.push(["started", [...started]]),
  });
  expect([table.starting("p") instanceof Promise, table.starting("q"), table.size]).toEqual([
    true,
    undefined,
    0,
  ]);
  await start;
  expect(steps).toEqual([
    ["observed", ["x"], false, ["p of 1"]],
    ["started", ["p of 1"]],
  ]);
  await table.starting("p");
  expect(table.starting("p")).toBeUndefined();
});

it.each<[string, Confinement, object]>([
  [
    "everything but the network",
    confinement({ root: "writable", mounts: [] }, "restricted"),
    {
      files: "unrestricted",
      network: "restricted",
    },
  ],
  [
    "what is not mounted",
    confinement({ root: "writable", mounts: [{}] }),
    { files: "restricted", network: "full" },
  ],
  [
    "nothing that changes",
    confinement({ root: "readable", mounts: [] }),
    { files: "restricted", network: "full" },
  ],
])("a confined process has its confinement, and says so: %s", async (_, confined, enforced) => {
  const { table, requests } = create();
  const seen: boolean[] = [];
  for (const confine of [() => confined, async () => confined])
    await table.start("p", REQUEST, {
      label: "a label",
      confine,
      observe: (__, { isConfined }) => void seen.push(isConfined),
    });
  expect(requests).toEqual([
    { ...REQUEST, confinement: confined },
    { ...REQUEST, confinement: confined },
  ]);
  expect(table.get("p")).toMatchObject({ argv: ["x"], cwd: "/", label: "a label", enforced });
  expect(seen).toEqual([true, true]);
});

it("a sandbox is prepared again if what it shows has changed meanwhile, three times at most", async () => {
  const { table, requests, failOnce, fail } = create();
  const changed = new ViewChangedError("/tmp/.agents was removed");
  const confine = vi.fn(() => confinement({ root: "writable", mounts: [] }));
  failOnce(changed);
  failOnce(changed);
  await table.start("p", REQUEST, { confine });
  expect([confine.mock.calls.length, requests.length, table.get("p") !== undefined]).toEqual([3, 3, true]);
  fail(changed);
  await expect(table.start("q", REQUEST, { confine })).rejects.toThrow(changed);
  expect(confine).toHaveBeenCalledTimes(6);
  fail(new Error("other"));
  await expect(table.start("r", REQUEST, { confine })).rejects.toThrow("other");
  expect(confine).toHaveBeenCalledTimes(7);
});

it("a process without a confinement says nothing about one", async () => {
  const { table, start } = create();
  await start("p");
  expect(table.get("p")).toMatchObject({ label: undefined, enforced: undefined });
});

it("the network of a process ends with it, or with the attempt to start it", async () => {
  const { table, process, requests, fail } = create();
  const network = (calls: string[]) => async (request: StartRequest) => ({
    request: { ...request, env: new Map([["PROXY", "here"]]) },
    started: () => void calls.push("started"),
    close: () => void calls.push("closed"),
  });
  const [ran, failed]: [string[], string[]] = [[], []];
  await table.start("p", REQUEST, { openNetwork: network(ran) });
  expect([requests[0]!.env.get("PROXY"), ran]).toEqual(["here", ["started"]]);
  process().close();
  await vi.waitFor(() => expect(ran).toEqual(["started", "closed"]));
  fail(new Error("no such program"));
  await expect(table.start("q", REQUEST, { openNetwork: network(failed) })).rejects.toThrow(
    "no such program",
  );
  expect(failed).toEqual(["closed", "started"]);
});

it("a process that exits has the time of its end", async () => {
  vi.setSystemTime(1_000);
  const { table, start } = create();
  const process = await start("p");
  vi.setSystemTime(2_000);
  expect(table.get("p")).toMatchObject({ startedAtMs: 1_000 });
  expect(table.get("p")).not.toHaveProperty("endedAtMs");
  process.exit();
  vi.setSystemTime(3_000);
  process.close();
  expect(table.get("p")).toMatchObject({ endedAtMs: 2_000 });
});

it("an id that may be forgotten is taken by the next start with it", async () => {
  const { table, start, slots } = create();
  (await start("p")).close();
  const old = table.get("p")!;
  table.heard(old);
  await start("p");
  expect([table.get("p") === old, table.size, slots[0]!.calls.at(-1)]).toEqual([false, 1, "freed"]);
  vi.advanceTimersByTime(10 * RETENTION_MS);
  expect(table.size).toBe(1);
});

it("nothing is left in the table after all were killed, whatever their clients had heard", async () => {
  const { table, start } = create();
  await start("running", "key");
  for (const id of ["heard", "unheard"]) (await start(id)).close();
  table.heard(table.get("heard")!);
  const unheard = table.get("unheard")!;
  await table.killAll();
  table.heard(unheard);
  expect([table.size, table.unclosed, table.startedWith("key"), table.forgetOldest()]).toEqual([
    0,
    0,
    undefined,
    false,
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

it("beyond maxHeard, the process whose end has been known for longest is forgotten before its time", async () => {
  const { table, start, slots } = create(0, 2);
  for (const id of ["a", "b", "c"]) (await start(id)).close();
  const running = await start("d");
  expect([...table].map(([id]) => id)).toEqual(["b", "c", "d"]);
  expect(slots.map(({ calls }) => calls.at(-1))).toEqual([
    "freed",
    "closed with 7",
    "closed with 7",
    undefined,
  ]);
  running.close();
  expect([...table].map(([id]) => id)).toEqual(["c", "d"]);
});

it("removes the output of a process from the disk when it is forgotten, and with everything else", async () => {
  const { table, start } = create(0);
  const processes = [await start("a"), await start("b"), await start("c")];
  processes[0]!.close();
  processes[1]!.close();
  const removals = (): number[] => processes.map((process) => process.removals);
  expect(removals()).toEqual([0, 0, 0]);
  table.forget("a");
  expect(removals()).toEqual([1, 0, 0]);
  vi.advanceTimersByTime(RETENTION_MS + 1);
  expect(removals()).toEqual([1, 1, 0]);
  await table.killAll();
  expect(removals()).toEqual([1, 1, 1]);
});
