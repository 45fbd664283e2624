import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RowAttempt, RowOutcome } from "../engine/row.ts";
import { type JobFiles, type JobOptions, type JobWork, runFileJob } from "./file-job.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rows-"));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

const place = (name: string): string => join(directory, name);
const input = (rows: string): string => {
  writeFileSync(place("in.csv"), rows);
  return place("in.csv");
};
const output = (): Record<string, string>[] =>
  parse(readFileSync(place("out.csv")), { columns: true }) as unknown as Record<string, string>[];
const ledger = (): string => readFileSync(place("out.csv.ledger"), "utf8");

const upper = async ({ item }: RowAttempt): Promise<RowOutcome> => ({
  status: "completed",
  result: item.values["name"]!.toUpperCase(),
  exitCode: 0,
  host: "here",
});

function job(files: Partial<JobFiles> = {}, work: Partial<JobWork> = {}, options: JobOptions = {}) {
  return runFileJob(
    { input: place("in.csv"), output: place("out.csv"), ...files },
    { run: upper, identity: { command: ["upper"] }, ...work },
    options,
  );
}

it("writes every row in the order of the input, with its result", async () => {
  input('name,"no, it"\ncat,"a\nb"\n"d ""og",\n');
  const summary = await job({}, {}, { maxConcurrency: 2 });
  expect(summary).toMatchObject({
    end: "finished",
    total: 2,
    completed: 2,
    groups: [{ status: "completed", count: 2, samples: ["row-1", "row-2"] }],
  });
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  const common = {
    job_id: summary.jobId,
    source_id: "",
    status: "completed",
    attempt_count: "1",
    last_error: "",
    reported_at: time,
    completed_at: time,
    exit_code: "0",
    duration_ms: expect.stringMatching(/^\d+$/),
    host: "here",
  };
  expect(output()).toEqual([
    { ...common, name: "cat", "no, it": "a\nb", item_id: "row-1", row_index: "0", result_json: '"CAT"' },
    { ...common, name: 'd "og', "no, it": "", item_id: "row-2", row_index: "1", result_json: '"D \\"OG"' },
  ]);
  expect(readdirSync(directory).sort()).toEqual(["in.csv", "out.csv", "out.csv.ledger"]);
});

it("rows are in the output as soon as they have ended", async () => {
  input("name\na\nb\nc\n");
  const seen: number[] = [];
  await job(
    {},
    {
      run: async (attempt) => {
        seen.push(output().length);
        return upper(attempt);
      },
    },
    { maxConcurrency: 1 },
  );
  // The row before may just be on its way.
  expect(seen[0]).toBe(0);
  expect(seen[2]).toBeGreaterThanOrEqual(1);
  expect(output()).toHaveLength(3);
});

it("the columns of an output can be those of the next input", async () => {
  input("name,status,input_status\ncat,old,older\n");
  await job();
  expect(output()).toMatchObject([
    { name: "cat", input_input_status: "old", input_status: "older", status: "completed" },
  ]);
});

it("writes JSON lines for a name that ends so", async () => {
  input("name\ncat\n");
  await job({ output: place("out.jsonl") });
  expect(JSON.parse(readFileSync(place("out.jsonl"), "utf8"))).toMatchObject({
    name: "cat",
    item_id: "row-1",
    row_index: 0,
    result_json: "CAT",
  });
});

it("a file without rows gives an output without rows", async () => {
  input("name\n");
  expect(await job()).toMatchObject({ end: "finished", total: 0, groups: [] });
  expect(readFileSync(place("out.csv"), "utf8")).toMatch(/^name,job_id,.*,host\n$/);
});

it("nothing begins, and nothing is left, if the file is wrong or a row is refused", async () => {
  input("name\ncat\ndog\n");
  const run = async (): Promise<never> => expect.unreachable();
  const check = () => (item: { id: string }) => (item.id === "row-2" ? "it is a dog" : undefined);
  await expect(job({}, { run, check })).rejects.toThrow(/in\.csv, line 3: row 2: it is a dog$/);
  await expect(job({ idColumn: "id" }, { run })).rejects.toThrow("has no column 'id'");
  expect(readdirSync(directory)).toEqual(["in.csv"]);
});

it("no file is replaced that is not of this job", async () => {
  input("name\ncat\n");
  await expect(job({ output: place("in.csv") })).rejects.toThrow("the output would replace the input");
  writeFileSync(place("out.csv"), "precious");
  await expect(job()).rejects.toThrow(
    "out.csv exists; continue the job with --resume, replace it with --force",
  );
  expect(readFileSync(place("out.csv"), "utf8")).toBe("precious");
});

it("no file of the user is taken for one of the job's own", async () => {
  input("name\ncat\n");
  const files = ["in.csv", "note.txt"];
  writeFileSync(place("note.txt"), "precious, and without a line break");
  const before = files.map((name) => readFileSync(place(name), "utf8"));
  await expect(job({ output: place("o"), ledger: place("in.csv"), resume: true })).rejects.toThrow("input");
  await expect(job({ output: place("o"), ledger: place("o") })).rejects.toThrow("the output and the ledger");
  await expect(job({ output: place("o"), ledger: place("note.txt"), resume: true })).rejects.toThrow(
    "line 1: this is not the ledger of a job",
  );
  expect(files.map((name) => readFileSync(place(name), "utf8"))).toEqual(before);
  expect(readdirSync(directory).sort()).toEqual(files);
});

describe("what someone else puts beside the output while the job runs", () => {
  const precious = (name: string, text = "precious"): string => {
    writeFileSync(place(name), text);
    return place(name);
  };

  it("a link is not written through, by any name that can be known", async () => {
    input("name\ncat\ndog\n");
    const victim = precious("victim");
    const run = (attempt: RowAttempt): Promise<RowOutcome> => {
      for (const name of ["out.csv", "out.csv.part"]) {
        rmSync(place(name), { force: true });
        symlinkSync(victim, place(name));
      }
      return upper(attempt);
    };
    await job({}, { run }, { maxConcurrency: 1 });
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(output().map(({ result_json }) => result_json)).toEqual(['"CAT"', '"DOG"']);
  });

  it("a directory that takes the place of the output's gets nothing", async () => {
    input("name\ncat\n");
    for (const name of ["results", "victim"]) mkdirSync(place(name));
    const run = (attempt: RowAttempt): Promise<RowOutcome> => {
      renameSync(place("results"), place("moved"));
      symlinkSync("victim", place("results"));
      return upper(attempt);
    };
    await job({ output: place("results/out.csv") }, { run });
    expect(readdirSync(place("victim"))).toEqual([]);
    expect(readFileSync(place("moved/out.csv"), "utf8")).toContain("CAT");
  });

  it("a ledger that is a link, a pipe or another user's is not continued", async () => {
    input("name\ncat\n");
    await job();
    const text = ledger();
    renameSync(place("out.csv.ledger"), place("elsewhere"));
    symlinkSync("elsewhere", place("out.csv.ledger"));
    await expect(job({ resume: true })).rejects.toThrow("out.csv.ledger: it is a symbolic link");
    rmSync(place("out.csv.ledger"));
    execFileSync("mkfifo", [place("out.csv.ledger")]);
    await expect(job({ resume: true })).rejects.toThrow("out.csv.ledger: it is not a regular file");
    rmSync(place("out.csv.ledger"));
    renameSync(place("elsewhere"), place("out.csv.ledger"));
    const owner = process.geteuid!();
    const account = vi.spyOn(process, "geteuid").mockReturnValue(owner + 1);
    await expect(job({ resume: true })).rejects.toThrow(`it belongs to another user (${owner})`);
    account.mockRestore();
    expect(ledger()).toBe(text);
    await job({ resume: true });
  });

  it("what a killed run had not finished is removed by the one that resumes it", async () => {
    input("name\ncat\n");
    await job();
    const left = ".out.csv.part-01234567-89ab-cdef-0123-456789abcdef";
    precious(left);
    precious(`${left}x`);
    await job({ resume: true });
    expect(readdirSync(directory).sort()).toEqual([`${left}x`, "in.csv", "out.csv", "out.csv.ledger"]);
  });
});

it("a place that cannot be written, or an option that makes no sense, is told before anything is written", async () => {
  input("name\ncat\n");
  await expect(job({ output: place("none/out.csv") })).rejects.toThrow(
    /^cannot write .*out\.csv\.ledger: ENOENT$/,
  );
  await expect(job({ output: place("none/out.csv"), ledger: place("ledger") })).rejects.toThrow(
    /^cannot write .*out\.csv: ENOENT$/,
  );
  await expect(job({ output: "-" })).rejects.toThrow("need a file, not stdout");
  await expect(job({}, {}, { maxConcurrency: 20_000 })).rejects.toThrow("maxConcurrency may be up to 10000");
  expect(readdirSync(directory)).toEqual(["in.csv"]);
});

it("columns may be called like what every object has", async () => {
  writeFileSync(place("in.jsonl"), '{"name":"a"}\n{"name":"b","constructor":"c","__proto__":"p"}\n');
  await job({ input: place("in.jsonl") });
  expect(readFileSync(place("out.csv"), "utf8").split("\n").slice(0, 3)).toEqual([
    expect.stringMatching(/^name,constructor,__proto__,job_id/),
    expect.stringMatching(/^a,,,/),
    expect.stringMatching(/^b,c,p,/),
  ]);
  await job({ input: place("in.jsonl"), output: place("out.jsonl") });
  const [first] = readFileSync(place("out.jsonl"), "utf8").split("\n");
  expect(first).toMatch(/^\{"name":"a","job_id":/);
});

describe("an interrupted job", () => {
  /** Runs until the second row, which never ends. */
  async function interrupt(rows = "name\na\nb\nc\nd\n", options: JobOptions = {}): Promise<void> {
    input(rows);
    const controller = new AbortController();
    await job(
      {},
      {
        run: async (attempt) => {
          if (attempt.item.index === 0) return upper(attempt);
          controller.abort(new Error("Ctrl-C"));
          throw attempt.signal.reason;
        },
      },
      { maxConcurrency: 1, signal: controller.signal, ...options },
    );
  }

  it("has every row in its output, and says what is left", async () => {
    await interrupt();
    expect(output().map((row) => [row["status"], row["attempt_count"], row["last_error"]])).toEqual([
      ["completed", "1", ""],
      ["cancelled", "1", "given up: Ctrl-C"],
      ["pending", "0", ""],
      ["pending", "0", ""],
    ]);
  });

  it("is resumed with the rows that have no result", async () => {
    await interrupt();
    const [before] = output();
    const ran: string[] = [];
    const summary = await job(
      { resume: true },
      {
        run: async (attempt) => {
          ran.push(`${attempt.item.id}/${attempt.attempt}`);
          return upper(attempt);
        },
      },
    );
    expect(ran).toEqual(["row-2/2", "row-3/1", "row-4/1"]);
    expect(summary).toMatchObject({ completed: 4, ended: 3, total: 4 });
    expect(output()[0]).toEqual(before);
    expect(output().map((row) => row["attempt_count"])).toEqual(["1", "2", "1", "1"]);
  });

  it.each([
    ["changed rows", () => input("name\na\nb\nc\ne\n"), {}, {}, "in.csv has changed since this job began"],
    ["another command", () => {}, {}, { identity: { command: ["lower"] } }, "the command has changed since"],
    [
      "a schema that was added",
      () => {},
      {},
      { identity: { command: ["upper"], "result schema": true } },
      "the result schema has changed since",
    ],
    ["another id column", () => {}, { idColumn: "name" }, {}, "the id column has changed since"],
  ])("is not resumed with %s", async (_, change, files, work, message) => {
    await interrupt();
    const before = ledger();
    change();
    await expect(job({ resume: true, ...files }, work)).rejects.toThrow(message);
    expect(ledger()).toBe(before);
    expect(readdirSync(directory)).not.toContain("out.csv.ledger.lock");
  });

  it("is resumed although its last line was cut off", async () => {
    await interrupt();
    const before = ledger();
    appendFileSync(place("out.csv.ledger"), '{"kind":"end","index":2,"id":"row-3","sta');
    await job({ resume: true });
    expect(ledger().startsWith(before)).toBe(true);
    for (const line of ledger().trimEnd().split("\n")) JSON.parse(line);
    expect(output().map((row) => row["status"])).toEqual(Array(4).fill("completed"));
  });

  it("is not resumed from a ledger that is damaged, or none", async () => {
    await interrupt();
    writeFileSync(place("out.csv.ledger"), ledger().replace('{"kind":"end"', '{"kind":"?"'));
    await expect(job({ resume: true })).rejects.toThrow(
      /line \d: this is not the ledger of a job, or it is damaged/,
    );
    rmSync(place("out.csv.ledger"));
    await expect(job({ resume: true })).rejects.toThrow("there is no job to resume");
  });

  it.each([
    ["a row that the file does not have", /$/, '{"kind":"begin","index":900000000000000,"attempt":1}\n'],
    ["an unknown status", /$/, '{"kind":"end","index":1,"attempts":1,"status":"weird"}\n'],
    ["a header without an input", /^.*$/m, '{"kind":"job","version":1,"jobId":"x"}'],
  ])("is not resumed from a ledger with %s", async (_, where, line) => {
    await interrupt();
    const damaged = ledger().replace(where, line);
    writeFileSync(place("out.csv.ledger"), damaged);
    await expect(job({ resume: true })).rejects.toThrow(/line \d: this is not the ledger of a job/);
    expect(ledger()).toBe(damaged);
  });

  it("is not resumed from the ledger of a newer version", async () => {
    await interrupt();
    writeFileSync(place("out.csv.ledger"), ledger().replace('"version":1', '"version":2'));
    await expect(job({ resume: true })).rejects.toThrow(
      "was written by a newer version; resume the job with that one",
    );
  });

  it("begins when it is resumed, if it was killed before anything was recorded", async () => {
    input("name\na\n");
    writeFileSync(place("out.csv.ledger"), '{"kind":"job","ver');
    expect(await job({ resume: true })).toMatchObject({ completed: 1 });
    expect(await job({ resume: true })).toMatchObject({ completed: 1, ended: 0 });
  });

  it("results of any size survive", async () => {
    const large = "x".repeat(700_000);
    await interrupt("name\na\nb\n");
    await job({ resume: true }, { run: async () => ({ status: "completed", result: large }) });
    expect(output().map((row) => row["result_json"]!.length)).toEqual([3, large.length + 2]);
  });
});

it("rows that failed run again on request, and keep their last error until then", async () => {
  input("name\na\nb\n");
  const fail = async ({ item }: RowAttempt): Promise<RowOutcome> =>
    item.index === 1
      ? { status: "failed", error: "no\nluck", retry: false, exitCode: 3 }
      : { status: "completed" };
  const first = await job({}, { run: fail });
  expect(first.groups).toEqual([
    { status: "failed", error: "no", count: 1, samples: ["row-2"] },
    { status: "completed", count: 1, samples: ["row-1"] },
  ]);
  expect(output()[1]).toMatchObject({ status: "failed", last_error: "no\nluck", exit_code: "3" });
  expect(await job({ resume: true }, { run: async () => expect.unreachable() })).toMatchObject({
    failed: 1,
    ended: 0,
  });
  expect(await job({ resume: true }, {}, { only: "failed" })).toMatchObject({
    failed: 0,
    completed: 2,
    ended: 1,
  });
  expect(output()[1]).toMatchObject({ status: "completed", last_error: "", attempt_count: "2" });
});

it("rows that a stop kept from beginning are cancelled, and run when the job is resumed", async () => {
  input("name\na\nb\nc\n");
  const run = async (attempt: RowAttempt): Promise<RowOutcome> => {
    attempt.stop("found it");
    return upper(attempt);
  };
  expect(await job({}, { run }, { maxConcurrency: 1 })).toMatchObject({
    end: "stopped",
    cancelled: 2,
    completed: 1,
  });
  expect(output().map((row) => [row["status"], row["last_error"]])).toEqual([
    ["completed", ""],
    ["cancelled", "found it"],
    ["cancelled", "found it"],
  ]);
  expect(await job({ resume: true })).toMatchObject({ end: "finished", completed: 3 });
  expect(output().map((row) => row["last_error"])).toEqual(["", "", ""]);
});

describe("the lock", () => {
  const held = (pid: number, started: string): void => {
    writeFileSync(place("out.csv.ledger.lock"), JSON.stringify({ pid, started, host: hostname() }));
  };

  it("keeps a second run from the same job", async () => {
    input("name\na\n");
    let second: unknown;
    await job(
      {},
      {
        run: async (attempt) => {
          second = await job({ resume: true }).catch((error: unknown) => error);
          return upper(attempt);
        },
      },
    );
    expect(second).toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(new RegExp(`^process ${process.pid} on .* is working on this job`)),
    });
    expect(readdirSync(directory).sort()).toEqual(["in.csv", "out.csv", "out.csv.ledger"]);
  });

  it("of a program that has ended is void, also if another one has its number", async () => {
    input("name\na\n");
    held(2 ** 30, "1");
    await job();
    held(process.pid, "1");
    await job({ resume: true });
    expect(readdirSync(directory)).not.toContain("out.csv.ledger.lock");
  });

  it("of another machine counts, and says what to remove", async () => {
    input("name\na\n");
    writeFileSync(place("out.csv.ledger.lock"), JSON.stringify({ pid: 1, started: "1", host: "elsewhere" }));
    await expect(job()).rejects.toThrow(
      /process 1 on elsewhere is working on this job; .* remove .*\.ledger\.lock/,
    );
  });
});
