import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { expect } from "vitest";
import { type RunningCommand, startCommand } from "../command.ts";

/** A row that the model expects to fail, whatever happens. */
const fails = (row: number): boolean => row % 97 === 13;
/** Attempts that a failing row gets besides those that are lost. */
const RETRIES = 1;
/** Losses in one run after which a row is given up. */
const MAX_LOSSES = 3;

interface Entry {
  readonly kind: string;
  readonly index: number;
  readonly attempt: number;
  readonly attempts: number;
  readonly host?: string;
  readonly lost?: true;
  readonly status?: string;
  readonly error?: string;
  readonly result?: string;
}

/** A job whose commands record each of their executions in a file of their row. */
export class ChaosJob {
  readonly #home: string;
  readonly #place: string;
  readonly #rows: number;
  runs = 0;

  constructor(home: string, rows: number) {
    this.#home = home;
    this.#rows = rows;
    this.#place = join(home, "job");
    mkdirSync(join(this.#place, "ran"), { recursive: true });
    // A few rows are long enough to be caught by everything that happens.
    const pause = (row: number): string => (row % 41 === 0 ? "3" : row % 7 === 0 ? "0.4" : "0.1");
    const lines = Array.from({ length: rows }, (_, row) => `${row},${pause(row)},${fails(row) ? 3 : 0}`);
    writeFileSync(join(this.#place, "rows.csv"), `n,pause,status\n${lines.join("\n")}\n`);
  }

  start(): RunningCommand {
    this.runs += 1;
    const resume = existsSync(join(this.#place, "out.csv.ledger")) ? ["--resume"] : [];
    const script =
      'echo "{n} $EXEC_SERVER_ATTEMPT $MACHINE" >> ran/{n}; sleep {pause}; ' +
      'echo "{n} by $EXEC_SERVER_ATTEMPT on $MACHINE"; exit {status}';
    const options = ["--on", "all", "--lost-after", "2s", "--retries", `${RETRIES}`, "--json", "-q"];
    return startCommand(
      [
        "map",
        ...options,
        "-o",
        "out.csv",
        ...resume,
        "--cwd",
        this.#place,
        "rows.csv",
        "--",
        "sh",
        "-c",
        script,
      ],
      { cwd: this.#place, env: { HOME: this.#home } },
    );
  }

  /** How many rows have ended. */
  get ended(): number {
    return this.#entries().filter(({ kind }) => kind === "end").length;
  }

  /** Compares what happened with what is recorded, and that with what may happen. */
  check(): { readonly executions: number; readonly attempts: number; readonly lost: number } {
    const entries = this.#entries();
    const executions = readdirSync(join(this.#place, "ran")).flatMap((name) =>
      readFileSync(join(this.#place, "ran", name), "utf8")
        .trim()
        .split("\n"),
    );
    const begun = new Map(
      entries
        .filter(({ kind }) => kind === "begin")
        .map(({ index, attempt, host }) => [`${index} ${attempt} ${host}`, host]),
    );
    expect(new Set(executions).size, "no attempt runs twice").toBe(executions.length);
    expect(
      executions.filter((execution) => !begun.has(execution)),
      "every execution is recorded, with its machine",
    ).toEqual([]);
    const ran = new Set(executions);
    const byRow = groupByRow(entries);
    for (let row = 0; row < this.#rows; row += 1) this.#checkRow(row, byRow.get(row) ?? [], ran);
    this.#checkOutput(byRow);
    return {
      executions: executions.length,
      attempts: begun.size,
      lost: entries.filter(({ lost }) => lost === true).length,
    };
  }

  #checkRow(row: number, entries: readonly Entry[], ran: ReadonlySet<string>): void {
    const attempts = entries.filter(({ kind }) => kind === "begin").map(({ attempt }) => attempt);
    expect(attempts, `attempts at row ${row}`).toEqual(attempts.map((_, number) => number + 1));
    const ends = entries.filter(({ kind }) => kind === "end");
    expect(ends.length, `accepted results of row ${row}`).toBe(1);
    const end = ends[0]!;
    expect(entries.at(-1), `what is last about row ${row}`).toBe(end);
    expect(end.attempts, `attempts of row ${row}`).toBe(attempts.length);
    const host = entries.findLast(({ kind }) => kind === "begin")?.host;
    const execution = `${row} ${attempts.length} ${host}`;
    expect(end.host, `machine of row ${row}`).toBe(host);
    const losses = entries.filter(({ lost }) => lost === true).length;
    const failures = entries.filter(({ kind, lost }) => kind === "retry" && lost !== true).length;
    const isGivenUp = end.status === "failed" && end.error?.includes("it was lost") === true;
    if (isGivenUp) {
      expect(losses, `losses of row ${row}, which was given up`).toBeGreaterThanOrEqual(MAX_LOSSES);
      return;
    }
    expect(ran, `execution whose result was accepted for row ${row}`).toContain(execution);
    if (fails(row)) {
      expect(end, `row ${row}`).toMatchObject({ status: "failed", exitCode: 3 });
      // A program that is killed forgets how often its rows have failed.
      expect(failures, `failures of row ${row} before its last`).toBeGreaterThanOrEqual(
        this.runs === 1 ? RETRIES : 0,
      );
      return;
    }
    expect(end, `row ${row}`).toMatchObject({
      status: "completed",
      result: `${row} by ${attempts.length} on ${host}`,
    });
    expect(failures, `failures of row ${row}`).toBe(0);
  }

  /** The output says the same as the ledger, in the order of the input. */
  #checkOutput(byRow: ReadonlyMap<number, readonly Entry[]>): void {
    const output = parse(readFileSync(join(this.#place, "out.csv")), {
      columns: true,
    }) as unknown as Record<string, string>[];
    expect(
      output.map(({ n, status, host, attempt_count: attempts }) => `${n} ${status} ${host} ${attempts}`),
    ).toEqual(
      Array.from({ length: this.#rows }, (_, row) => {
        const { status, host, attempts } = byRow.get(row)!.at(-1)!;
        return `${row} ${status} ${host} ${attempts}`;
      }),
    );
  }

  #entries(): Entry[] {
    const path = join(this.#place, "out.csv.ledger");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Entry);
  }
}

function groupByRow(entries: readonly Entry[]): Map<number, Entry[]> {
  const byRow = new Map<number, Entry[]>();
  for (const entry of entries) {
    if (!["begin", "retry", "end"].includes(entry.kind)) continue;
    const known = byRow.get(entry.index);
    if (known === undefined) byRow.set(entry.index, [entry]);
    else known.push(entry);
  }
  return byRow;
}

/** Resolves with the status of a program; null if it was killed. */
export async function endOf({ child }: RunningCommand): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  await once(child, "close");
  return child.exitCode;
}
