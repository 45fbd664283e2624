import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { type RunningCommand, startCommand } from "./command.ts";

// The program and the server are killed at random moments, and the job is resumed until it is done. What happened is
// compared with what the ledger says. TEST_ROWS_KILLS is the number of kills.

const KILLS = Number(process.env["TEST_ROWS_KILLS"] ?? 4);
const ROWS = 100;
const MAX_MOMENT_MS = 1_500;

interface Entry {
  readonly kind: string;
  readonly index: number;
  readonly attempt: number;
  readonly status: string;
  readonly pid?: number;
}

/** A job of rows that log each of their executions. */
class KilledJob {
  readonly #directory: string;
  readonly #url: string;
  /** Rows that had begun and not ended when something was killed. */
  readonly inFlight = new Set<number>();

  private constructor(directory: string, url: string) {
    this.#directory = directory;
    this.#url = url;
  }

  static async create(directory: string, url: string): Promise<KilledJob> {
    const place = await mkdtemp(join(directory, "job-"));
    const rows = Array.from({ length: ROWS }, (_, n) => `${n},0.0${n % 10}`);
    await writeFile(join(place, "rows.csv"), `n,pause\n${rows.join("\n")}\n`);
    return new KilledJob(place, url);
  }

  start(): RunningCommand {
    const resume = existsSync(join(this.#directory, "out.csv.ledger")) ? ["--resume"] : [];
    // One small write: lines of several processes do not mix.
    const script = `echo "{n} $EXEC_SERVER_ATTEMPT" >> log; sleep {pause}; echo "result of {n}"`;
    const options = ["--url", this.#url, "-j", "6", "-o", "out.csv", ...resume, "--cwd", this.#directory];
    return startCommand(["map", ...options, "rows.csv", "--", "sh", "-c", script], { cwd: this.#directory });
  }

  /** Something was killed: what runs now may run again. */
  killed(): void {
    const ended = new Set(this.#entries("end").map(({ index }) => index));
    for (const { index } of this.#entries("begin")) if (!ended.has(index)) this.inFlight.add(index);
  }

  /** Whether this program has opened the ledger, and so has had its connection. */
  hasBegun({ child }: RunningCommand): boolean {
    return this.#entries("run").some(({ pid }) => pid === child.pid);
  }

  check(): void {
    const executions = this.#executions();
    const begun = this.#entries("begin");
    const ends = this.#entries("end");
    expect(new Set(executions).size, "no attempt runs twice").toBe(executions.length);
    for (let row = 0; row < ROWS; row += 1) {
      const ran = executions.filter((line) => line.startsWith(`${row} `)).length;
      const attempts = begun.filter(({ index }) => index === row).map(({ attempt }) => attempt);
      expect(ran, `executions of row ${row}`).toBeGreaterThanOrEqual(1);
      expect(ran, `executions and attempts of row ${row}`).toBeLessThanOrEqual(attempts.length);
      expect(attempts, `attempts at row ${row}`).toEqual(attempts.map((_, number) => number + 1));
      if (attempts.length > 1) expect(this.inFlight, "rows with several attempts").toContain(row);
      expect(ends.filter(({ index }) => index === row).map(({ status }) => status)).toEqual(["completed"]);
    }
    const output = parse(readFileSync(join(this.#directory, "out.csv")), {
      columns: true,
    }) as unknown as Record<string, string>[];
    expect(output.map(({ n, status, result_json: result }) => [n, status, result])).toEqual(
      Array.from({ length: ROWS }, (_, n) => [`${n}`, "completed", `"result of ${n}"`]),
    );
  }

  #executions(): string[] {
    return readFileSync(join(this.#directory, "log"), "utf8").trim().split("\n");
  }

  #entries(kind: string): Entry[] {
    const path = join(this.#directory, "out.csv.ledger");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Entry).filter((entry) => entry.kind === kind);
  }
}

test(
  `after ${KILLS} kills of the program or its server, each row is there exactly once`,
  async () => {
    const directory = await mkdtemp("/var/tmp/exec-server-kills-");
    const socket = join(directory, "server.sock");
    const url = `ws+unix://${socket}`;
    const random = new SeededRandom(runSeed);
    const history: string[] = [];
    let server = await serve(socket);
    try {
      let kills = 0;
      while (kills < KILLS) {
        const job = await KilledJob.create(directory, url);
        for (let isDone = false; !isDone; ) {
          const program = job.start();
          const victim = kills >= KILLS ? "nobody" : random.pick(["program", "server", "both"]);
          const moment = random.between(0, MAX_MOMENT_MS);
          const ended = program.ended();
          const isFirst = await Promise.race([
            ended.then(() => true),
            new Promise<boolean>((resolve) => setTimeout(() => resolve(false), moment)),
          ]);
          history.push(`${victim} after ${moment} ms${isFirst ? ", too late" : ""}`);
          if (!isFirst && victim !== "nobody") {
            kills += 1;
            if (victim !== "server") {
              program.child.kill("SIGKILL");
              await ended;
            }
            if (victim !== "program") {
              server.child.kill("SIGKILL");
              await server.exited.catch(() => {});
              await server.stop();
              server = await serve(socket);
            }
          }
          const { status, stderr } = await ended;
          job.killed();
          isDone = status === 0;
          // A program that was not killed says how to continue, unless it was about to connect.
          if (!isDone && status !== null) {
            const isShaking =
              !job.hasBegun(program) && stderr.startsWith("exec-server: lost the connection: ");
            if (!isShaking)
              expect(stderr).toMatch(
                /; the same command with --resume continues the job\n$|failed to connect/,
              );
          }
        }
        job.check();
        await using host = await connect(url);
        expect(await host.processes({ scope: "kept" })).toEqual([]);
      }
    } catch (error) {
      throw new Error(`FAULT_SEED ${runSeed}: ${history.join("; ")}`, { cause: error });
    } finally {
      await server.stop();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  },
  120_000 + KILLS * 10_000,
);

async function serve(socket: string): Promise<ServerProcess> {
  const server = await launch("ours", ["--listen", `unix://${socket}`]);
  await server.banner();
  return server;
}
