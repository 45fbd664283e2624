import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { mapRows, type MapRowsOptions } from "../../src/rows/index.ts";
import { createServer } from "../../src/server/index.ts";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { FakeFleet, type FakeMachine } from "../fixtures/fake-fleet.ts";

let directory: string;
let fleet: FakeFleet;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rows-fleet-"));
  fleet = new FakeFleet();
});
afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const at = (name: string): string => join(directory, name);
const rows = (count: number): void =>
  writeFileSync(at("in.csv"), `n\n${Array.from({ length: count }, (_, n) => n).join("\n")}\n`);
const results = (): Record<string, string>[] =>
  parse(readFileSync(at("out.csv")), { columns: true }) as unknown as Record<string, string>[];
const hosts = (): string[] => [...new Set(results().map(({ host = "" }) => host))].sort();
const entries = (kind: string): Record<string, unknown>[] =>
  readFileSync(at("out.csv.ledger"), "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((entry) => entry["kind"] === kind);

type Options = Partial<Omit<MapRowsOptions, "host" | "hostName">> & {
  readonly on?: Readonly<Record<string, string>>;
  readonly lostAfterMs?: number;
};
const map = (script: string, options: Options = {}) =>
  mapRows({
    input: at("in.csv"),
    output: at("out.csv"),
    argv: ["sh", "-c", script],
    start: { cwd: directory },
    lostAfterMs: 300,
    ...options,
    fleet,
  });

/** A row that waits until the file is there. */
const waitFor = (file: string): string => `until [ -e ${file} ]; do sleep 0.01; done`;
const create = (file: string): void => writeFileSync(at(file), "");
const isThere = (file: string): Promise<void> =>
  expect.poll(() => readFileSync(at(file), "utf8"), { timeout: 60_000 }).toBeDefined();

describe("where rows run", () => {
  test("every machine gets as many rows as it has slots, and the results say where", async () => {
    rows(60);
    const machines = [
      fleet.add("one", { slots: 1 }),
      fleet.add("two", { slots: 2 }),
      fleet.add("three", { slots: 3 }),
    ];
    const most = machines.map(() => 0);
    const summary = await map("sleep 0.02; echo {n}", {
      onProgress: () =>
        machines.forEach(({ server }, index) => {
          most[index] = Math.max(most[index]!, server.state().runningProcesses);
        }),
    });
    expect(summary).toMatchObject({
      completed: 60,
      moved: 0,
      machines: { used: ["one", "three", "two"], unreached: [] },
    });
    expect(most[0]).toBeLessThanOrEqual(1);
    expect(most[1]).toBeLessThanOrEqual(2);
    expect(most[2]).toBeLessThanOrEqual(3);
    expect(hosts()).toEqual(["one", "three", "two"]);
    expect(results().map(({ result_json }) => result_json)).toEqual(
      Array.from({ length: 60 }, (_, n) => `"${n}"`),
    );
    expect(fleet.watchers).toBe(0);
  });

  test("maxConcurrency bounds all machines together", async () => {
    rows(30);
    for (const id of ["a", "b", "c"]) fleet.add(id, { slots: 8 });
    let most = 0;
    await map("sleep 0.01", {
      maxConcurrency: 2,
      onProgress: ({ running }) => (most = Math.max(most, running)),
    });
    expect(most).toBe(2);
  });

  test("slots that others use are not free", async () => {
    rows(10);
    const busy = fleet.add("busy", { slots: 2 });
    const host = await connect(busy.server);
    await host.start(["sleep", "60"]);
    await host.start(["sleep", "60"]);
    busy.tell();
    fleet.add("idle", { slots: 1 });
    await map("true");
    expect(hosts()).toEqual(["idle"]);
    await host.close();
  });

  test("a job that nothing runs of says why, as long as it is so", async () => {
    rows(2);
    const busy = fleet.add("busy", { slots: 1, labels: { zone: "eu" } });
    const host = await connect(busy.server);
    await host.start(["sleep", "60"]);
    busy.tell();
    const other = fleet.add("other", { labels: { zone: "eu" } });
    other.cordon();
    fleet.add("elsewhere", { labels: { zone: "us" } });
    const waits: (string | undefined)[] = [];
    const summary = map("true", {
      on: { zone: "eu" },
      onProgress: ({ waiting }) => {
        if (waiting !== waits.at(-1)) waits.push(waiting);
      },
    });
    const says = (text: string): Promise<void> =>
      expect.poll(() => waits.at(-1), { timeout: 20_000 }).toBe(text);
    await says("2 machines match: 1 full (1 of 1 slots), 1 cordoned");
    other.leave();
    await says("1 machine matches, full (1 of 1 slots)");
    busy.leave();
    await says("no machine matches the selection any longer");
    other.isListed = true;
    other.cordon("ready");
    expect(await summary).toMatchObject({ completed: 2 });
    expect(waits.slice(3)).toEqual(["1 machine matches, being connected to", undefined]);
    await host.close();
  });

  test("only machines with the labels get rows", async () => {
    rows(12);
    fleet.add("a", { labels: { zone: "eu", disk: "ssd" } });
    fleet.add("b", { labels: { zone: "eu" } });
    fleet.add("c", { labels: { zone: "us", disk: "ssd" } });
    await map("true", { on: { zone: "eu", disk: "ssd" } });
    expect(hosts()).toEqual(["a"]);
    rmSync(at("out.csv"));
    rmSync(at("out.csv.ledger"));
    await expect(map("true", { on: { zone: "mars" } })).rejects.toThrow(
      "there is no machine in the fleet with zone=mars",
    );
    expect(fleet.watchers).toBe(0);
  });

  test.each(["cordoned", "draining", "left"] as const)(
    "a machine that is %s gets no new rows, and ends those that it has",
    async (how) => {
      rows(20);
      const [first, second] = [fleet.add("first", { slots: 1 }), fleet.add("second", { slots: 1 })];
      const summary = map(`echo {n} >> started; case {n} in 0|1) ${waitFor("go")};; esac`);
      await expect
        .poll(() => readFileSync(at("started"), "utf8").split("\n").length, { timeout: 60_000 })
        .toBe(3);
      if (how === "left") first.leave();
      else first.cordon(how);
      create("go");
      expect(await summary).toMatchObject({ completed: 20, moved: 0 });
      const ran = results().map(({ host }) => host);
      expect(new Set(ran.slice(0, 2))).toEqual(new Set(["first", "second"]));
      expect(new Set(ran.slice(2))).toEqual(new Set(["second"]));
      expect([await first.kept(), await second.kept()]).toEqual([[], []]);
    },
  );

  test("a machine that joins, or is uncordoned, gets rows", async () => {
    rows(40);
    fleet.add("first", { slots: 1 });
    const late = fleet.add("late", { slots: 1 });
    late.cordon();
    let ended = 0;
    let joined = false;
    await map("sleep 0.02", {
      onProgress: (progress) => {
        if (progress.ended === ended) return;
        ended = progress.ended;
        // Several may end between two calls.
        if (ended >= 3 && !joined) fleet.add("new", { slots: 1 });
        joined = ended >= 3;
        if (ended >= 6 && late.state !== "ready") late.cordon("ready");
      },
    });
    expect(hosts()).toEqual(["first", "late", "new"]);
  });
});

describe("a machine that is lost", () => {
  /** Two machines, and one row that runs on the first of them until it is released. */
  async function lostDuringRow(options: Options = {}): Promise<{
    readonly lost: FakeMachine;
    readonly summary: ReturnType<typeof map>;
  }> {
    rows(1);
    const lost = fleet.add("lost", { slots: 2 });
    fleet.add("other", { slots: 1 });
    const script = `echo "{n} $EXEC_SERVER_ATTEMPT" >> ran; [ $EXEC_SERVER_ATTEMPT != 1 ] || { ${waitFor("late")}; }; echo by $EXEC_SERVER_ATTEMPT`;
    const summary = map(script, options);
    summary.catch(() => {});
    await expect
      .poll(() => readFileSync(at("ran"), { encoding: "utf8", flag: "a+" }), { timeout: 60_000 })
      .toBe("0 1\n");
    lost.cutOff();
    return { lost, summary };
  }

  test("its row runs elsewhere as a further attempt, which is recorded, and is no retry", async () => {
    const { summary } = await lostDuringRow();
    expect(await summary).toMatchObject({
      completed: 1,
      retries: 0,
      moved: 1,
      machines: { used: ["lost", "other"], unreached: ["lost"] },
    });
    expect(results()).toMatchObject([
      { status: "completed", attempt_count: "2", host: "other", result_json: '"by 2"' },
    ]);
    expect(entries("begin")).toMatchObject([
      { index: 0, attempt: 1, host: "lost" },
      { index: 0, attempt: 2, host: "other" },
    ]);
    expect(entries("retry")).toMatchObject([
      { index: 0, attempt: 1, lost: true, error: expect.stringMatching(/^lost: it was lost: /) },
    ]);
    expect(readFileSync(at("ran"), "utf8")).toBe("0 1\n0 2\n");
  });

  test("what it still runs is ended when it is seen again, and its late result is not accepted", async () => {
    rows(3);
    const lost = fleet.add("lost", { slots: 3 });
    const other = fleet.add("other", { slots: 1 });
    other.cordon();
    const script = `echo $$ >> ran; [ $EXEC_SERVER_ATTEMPT != 1 ] || { ${waitFor("never")}; }; ${waitFor("go")}; echo by $EXEC_SERVER_ATTEMPT`;
    const summary = map(script);
    await expect.poll(() => lost.server.state().runningProcesses, { timeout: 60_000 }).toBe(3);
    lost.cutOff();
    other.cordon("ready");
    await expect.poll(() => other.server.state().runningProcesses, { timeout: 60_000 }).toBe(1);
    expect(lost.server.state().runningProcesses).toBe(3);
    lost.mend();
    // The second attempts of the other rows run there now; nothing is left of the first ones.
    await expect
      .poll(async () => (await lost.kept()).map((name) => name.split(".").at(-1)), { timeout: 60_000 })
      .toEqual(["2", "2"]);
    create("go");
    expect(await summary).toMatchObject({ completed: 3, moved: 3, machines: { unreached: [] } });
    expect(results().map(({ result_json }) => result_json)).toEqual(['"by 2"', '"by 2"', '"by 2"']);
    expect([await lost.kept(), await other.kept()]).toEqual([[], []]);
  });

  test("a machine whose server was replaced is used again, and its row is begun again", async () => {
    rows(1);
    const lost = fleet.add("only", { slots: 1 });
    const summary = map(
      `[ $EXEC_SERVER_ATTEMPT != 1 ] || { touch began; sleep 60; }; echo by $EXEC_SERVER_ATTEMPT`,
    );
    await isThere("began");
    await lost.kill();
    fleet.add("only", { slots: 1 });
    expect(await summary).toMatchObject({ completed: 1, moved: 1, machines: { unreached: [] } });
    expect(results()).toMatchObject([{ attempt_count: "2", result_json: '"by 2"' }]);
  });

  test("without reruns its row is lost", async () => {
    const { summary } = await lostDuringRow({ rerun: false });
    expect(await summary).toMatchObject({ completed: 0, lost: 1, moved: 0 });
    expect(results()).toMatchObject([{ status: "lost", attempt_count: "1", host: "lost" }]);
    expect(readFileSync(at("ran"), "utf8")).toBe("0 1\n");
  });

  test("a row that loses machine after machine fails", async () => {
    rows(1);
    const machines = new Map(["a", "b", "c"].map((id) => [id, fleet.add(id, { slots: 1 })]));
    const summary = await map("sleep 60", {
      maxLosses: 1,
      onProgress: ({ running }) => {
        if (running === 0) return;
        for (const machine of machines.values())
          void expect
            .poll(() => machine.server.state().runningProcesses, { timeout: 60_000 })
            .toBe(1)
            .then(
              () => machine.cutOff(),
              () => {},
            );
      },
    });
    expect(summary).toMatchObject({ failed: 1, moved: 1 });
    expect(results()).toMatchObject([
      {
        status: "failed",
        attempt_count: "2",
        last_error: expect.stringMatching(/it was lost: .*, after 1 other with its machine$/),
      },
    ]);
  });

  test("a short interruption is survived: the row continues", async () => {
    const { lost, summary } = await lostDuringRow({ lostAfterMs: 20_000 });
    lost.mend();
    create("late");
    expect(await summary).toMatchObject({ completed: 1, moved: 0 });
    expect(results()).toMatchObject([{ attempt_count: "1", host: "lost", result_json: '"by 1"' }]);
  });
});

describe("a machine that refuses", () => {
  test("a machine that refuses the client does not hold up a job that others can do", async () => {
    rows(20);
    fleet.add("good", { slots: 1 });
    fleet.add("bad", { slots: 8, refusal: 401 });
    expect(await map("true", { maxConcurrency: 4 })).toMatchObject({ completed: 20, moved: 0 });
    expect(hosts()).toEqual(["good"]);
  });

  test("a machine whose limit is reached passes rows on", async () => {
    rows(8);
    const full = fleet.add("full", { slots: 8, server: { limits: { maxProcesses: 1 } } });
    const host = await connect(full.server);
    await host.start(["sleep", "60"]);
    fleet.add("good", { slots: 1 });
    expect(await map("sleep 0.3", { maxConcurrency: 4 })).toMatchObject({ completed: 8, failed: 0 });
    expect(hosts()).toEqual(["good"]);
    expect(
      entries("retry").every(({ lost, error }) => lost === true && String(error).startsWith("full: ")),
    ).toBe(true);
    expect(entries("retry").length).toBeGreaterThan(0);
    await host.close();
  });

  test("a machine without the program gets no more rows", async () => {
    rows(20);
    mkdirSync(at("bin"));
    writeFileSync(at("bin/tool"), "#!/bin/sh\necho tool\n", { mode: 0o755 });
    fleet.add("bare", { slots: 8 });
    fleet.add("equipped", { slots: 1, server: { environment: { PATH: `${SERVER_PATH}:${at("bin")}` } } });
    expect(await map("", { argv: ["tool"] })).toMatchObject({ completed: 20, failed: 0 });
    expect(hosts()).toEqual(["equipped"]);
  });

  test("if none takes the rows, the job ends, and says why", async () => {
    rows(20);
    fleet.add("a", { refusal: 401 });
    fleet.add("b");
    await expect(map("", { argv: ["no-such-tool"] })).rejects.toThrow(
      /^none of 2 machines accepts the rows: a: .*refuses everybody.*; b: cannot start no-such-tool in /,
    );
    expect(fleet.watchers).toBe(0);
  });
});

describe("a job that is resumed", () => {
  /** The ledger of a job whose program was killed during its rows. */
  function interrupted(attempts: readonly { index: number; attempt: number; host?: string }[]): string {
    const jobId = "job-1";
    const before = createLedgerOf(jobId);
    writeFileSync(
      at("out.csv.ledger"),
      [before, ...attempts.map((attempt) => JSON.stringify({ kind: "begin", ...attempt }))]
        .map((line) => `${line}\n`)
        .join(""),
    );
    return jobId;
  }

  /** What the job is, as it would be written. */
  let header = "";
  const createLedgerOf = (jobId: string): string => header.replace(/"jobId":"[^"]*"/, `"jobId":"${jobId}"`);
  const SCRIPT = `echo "{n} $EXEC_SERVER_ATTEMPT" >> ran; echo by $EXEC_SERVER_ATTEMPT`;

  async function keepRunning(
    machine: FakeMachine,
    jobId: string,
    index: number,
    attempt: number,
  ): Promise<void> {
    const host = await connect(machine.server);
    await host.start(["sh", "-c", `${waitFor("go")}; echo taken over`], {
      cwd: directory,
      keep: `rows.${jobId}.${index}.${attempt}`,
    });
    await host.close();
  }

  beforeEach(async () => {
    rows(3);
    const scratch = new FakeFleet();
    scratch.add("scratch");
    const options = { input: at("in.csv"), output: at("scratch.csv"), argv: ["sh", "-c", SCRIPT], limit: 0 };
    await mapRows({ ...options, fleet: scratch });
    await scratch[Symbol.asyncDispose]();
    header = readFileSync(at("scratch.csv.ledger"), "utf8").split("\n")[0]!;
  });

  test("takes over what still runs, on the machine where it was begun, and sweeps the rest", async () => {
    const [a, b] = [fleet.add("a"), fleet.add("b")];
    const jobId = interrupted([
      { index: 0, attempt: 1, host: "a" },
      { index: 1, attempt: 1, host: "a" },
      { index: 1, attempt: 2, host: "b" },
    ]);
    await keepRunning(a, jobId, 0, 1);
    await keepRunning(a, jobId, 1, 1);
    await keepRunning(b, jobId, 1, 2);
    create("go");
    expect(await map(SCRIPT, { resume: true, lostAfterMs: 60_000 })).toMatchObject({
      completed: 3,
      moved: 0,
    });
    expect(
      results().map(({ attempt_count: count, host, result_json: result }) => [count, host, result]),
    ).toEqual([
      ["1", "a", '"taken over"'],
      ["2", "b", '"taken over"'],
      ["1", expect.stringMatching(/^[ab]$/), '"by 1"'],
    ]);
    expect(readFileSync(at("ran"), "utf8")).toBe("2 1\n");
    expect([await a.kept(), await b.kept()]).toEqual([[], []]);
  });

  test("runs a row elsewhere whose machine cannot be reached, and names that machine", async () => {
    fleet.add("a");
    const gone = fleet.add("gone");
    const jobId = interrupted([{ index: 0, attempt: 1, host: "gone" }]);
    await keepRunning(gone, jobId, 0, 1);
    gone.leave();
    gone.cutOff();
    expect(await map(SCRIPT, { resume: true })).toMatchObject({
      completed: 3,
      moved: 1,
      machines: { used: ["a", "gone"], unreached: ["gone"] },
    });
    expect(results()[0]).toMatchObject({ attempt_count: "2", host: "a", result_json: '"by 2"' });
    expect(await gone.kept()).toHaveLength(1);
  });

  test("reads ledgers that do not say where rows were begun", async () => {
    fleet.add("a");
    interrupted([{ index: 0, attempt: 1 }]);
    expect(await map(SCRIPT, { resume: true })).toMatchObject({ completed: 3 });
    expect(results()[0]).toMatchObject({ attempt_count: "2", result_json: '"by 2"' });
  });

  test("may continue with one host", async () => {
    interrupted([{ index: 0, attempt: 1, host: "a" }]);
    const server = createServer({ environment: { PATH: SERVER_PATH } });
    const options = { input: at("in.csv"), output: at("out.csv"), argv: ["sh", "-c", SCRIPT], resume: true };
    const host = await connect(server);
    expect(await mapRows({ ...options, host, start: { cwd: directory } })).toMatchObject({ completed: 3 });
    await host.close();
    await server.close();
  });
});

test("an interruption ends what runs on every machine", async () => {
  rows(10);
  const machines = ["a", "b"].map((id) => fleet.add(id));
  const controller = new AbortController();
  const summary = map("sleep 60", { signal: controller.signal });
  await expect
    .poll(() => machines.map(({ server }) => server.state().runningProcesses), { timeout: 60_000 })
    .toEqual([2, 2]);
  controller.abort(new Error("enough"));
  expect(await summary).toMatchObject({ end: "interrupted", cancelled: 4 });
  for (const machine of machines) {
    expect(machine.server.state().runningProcesses).toBe(0);
    expect(await machine.kept()).toEqual([]);
  }
});
