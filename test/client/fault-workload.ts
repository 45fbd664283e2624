// Runs processes through a bad connection and compares the result with what they must have written. faults.test.ts
// starts it as a separate program, so that only the client keeps it alive: after `closed` it must end on its own.
import { ConnectionError } from "../../src/base/errors.ts";
import { connect, type ConnectTarget } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import type { StartOptions } from "../../src/client/process/start-request.ts";
import { SeededRandom } from "../fault/seeded-random.ts";

const PARALLEL = 50;
/** A process that takes longer hangs, whatever the connection does. */
const TASK_DEADLINE_MS = Number(process.env["FAULT_TASK_MS"] ?? 45_000);
const MIN_OF_EACH_KIND = 6;
const BURST_FIRST = 100_000;
const BURST_LINES = 50_000;

export interface WorkloadReport {
  readonly processes: Readonly<Record<string, number>>;
  readonly bytes: number;
  /** Starts whose answers were lost, and which were made again. */
  readonly lostStarts: number;
  readonly requests: { readonly answered: number; readonly lost: number };
  readonly recoveries: number;
  readonly problems: readonly string[];
  /** What keeps the program alive after `close`, in Node's terms. */
  readonly resources: readonly string[];
}

const [url = "", seconds = "", seed = "", marker = "", bridge] = process.argv.slice(2);
const random = new SeededRandom(Number(seed));
const counts: Record<string, number> = {};
const problems: string[] = [];
let bytes = 0;
let lostStarts = 0;
let recoveries = 0;
const requests = { answered: 0, lost: 0 };

/** Follows all events of a process and holds them against the rules: each number once, one exit, the end last. */
class Watch {
  readonly done: Promise<void>;
  text = "";
  exitCodes: (number | null)[] = [];
  #check: () => void = () => {};

  constructor(remote: RemoteProcess, what: string) {
    this.done = this.#follow(remote, what);
    this.done.catch(() => {});
  }

  /** Resolves when this much text has arrived, or at the end. */
  async reached(length: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#check = () => {
        if (this.text.length >= length) resolve();
      };
      this.#check();
    });
    await Promise.race([reached, this.done]);
  }

  async #follow(remote: RemoteProcess, what: string): Promise<void> {
    let seq = 0;
    let ended = false;
    for await (const event of remote.events()) {
      if (event.kind === "failed") throw new Error(`${what} failed: ${event.message}`);
      if (event.kind === "gap") problems.push(`${what} lost events ${event.fromSeq} to ${event.toSeq}`);
      else if (event.seq !== seq + 1) problems.push(`${what}: event ${event.seq} follows ${seq}`);
      if (ended) problems.push(`${what}: event ${event.seq} after the end`);
      seq = event.seq;
      if (event.kind === "output") {
        bytes += event.bytes.length;
        this.text += Buffer.from(event.bytes).toString("latin1");
        this.#check();
      } else if (event.kind === "exited") {
        this.exitCodes.push(event.exitCode);
      } else if (event.kind === "closed") {
        ended = true;
      }
    }
    if (!ended) problems.push(`${what} has no end`);
  }
}

interface Task {
  readonly script: string;
  readonly tty: boolean;
  readonly exitCode: number;
  /** Talks to the process and says what it must have written. */
  talk(remote: RemoteProcess, watch: Watch): Promise<string>;
}

const tasks: Readonly<Record<string, () => Task>> = {
  echo: () => ({
    script: 'while read -r line; do echo "$line"; [ "$line" = end ] && exit 7; done',
    tty: false,
    exitCode: 7,
    async talk(remote, watch) {
      let expected = "";
      const lines = random.between(5, 40);
      const writes: Promise<void>[] = [];
      for (let line = 1; line <= lines; line += 1) {
        const text = `${line} ${"x".repeat(random.between(1, 200))}\n`;
        expected += text;
        writes.push(remote.write(text));
        if (random.next() < 0.5) await watch.reached(expected.length);
      }
      writes.push(remote.write("end\n"));
      await Promise.all(writes);
      return `${expected}end\n`;
    },
  }),
  quiet: () => {
    const exitCode = random.between(0, 100);
    return {
      script: `sleep 0.${random.between(1, 9)}; exit ${exitCode}`,
      tty: false,
      exitCode,
      talk: async () => "",
    };
  },
  burst: () => ({
    // Each burst is less than a server keeps, and the next one is asked for when this one is here.
    script: 'while read -r n; do [ "$n" = end ] && exit 9; seq "$n" "$((n + 50000 - 1))"; done',
    tty: false,
    exitCode: 9,
    async talk(remote, watch) {
      let expected = "";
      for (let round = random.between(1, 3); round > 0; round -= 1) {
        await remote.write(`${BURST_FIRST}\n`);
        expected += burst;
        await watch.reached(expected.length);
      }
      await remote.write("end\n");
      return expected;
    },
  }),
  terminal: () => ({
    script:
      'stty -echo -onlcr; echo ready; while read -r line; do echo "got $line"; [ "$line" = end ] && exit 5; done',
    tty: true,
    exitCode: 5,
    async talk(remote, watch) {
      let expected = "ready\n";
      await watch.reached(expected.length);
      const lines = random.between(3, 20);
      for (let line = 1; line <= lines; line += 1) {
        await remote.write(`${line}\n`);
        expected += `got ${line}\n`;
        if (random.next() < 0.5) await watch.reached(expected.length);
      }
      await remote.write("end\n");
      return `${expected}got end\n`;
    },
  }),
};

const burst = Array.from({ length: BURST_LINES }, (_, index) => `${BURST_FIRST + index}\n`).join("");

/** A start whose answer was lost is the caller's business: it is made again, under another id. */
function start(host: Host, { script, tty }: Task): Promise<RemoteProcess> {
  const options: StartOptions = { stdin: "pipe", env: { FAULT_MARKER: marker } };
  const argv = ["/bin/sh", "-c", script];
  return untilStarted(host, () => (tty ? host.terminal(argv, options) : host.start(argv, options)));
}

/** Repeats what was lost with its connection before the server had answered. */
async function untilStarted<T>(host: Host, begin: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await begin();
    } catch (error) {
      if (!(error instanceof ConnectionError) || host.state === "closed") throw error;
      lostStarts += 1;
    }
  }
}

/** A whole run: input through a program and back. */
async function filter(host: Host): Promise<void> {
  const input = random.bytes(random.between(1, 60_000));
  const options = { input, env: { FAULT_MARKER: marker } };
  const { stdoutBytes, exitCode, gaps } = await untilStarted(host, () => host.run(["cat"], options));
  bytes += stdoutBytes.length;
  if (Buffer.compare(input, stdoutBytes) !== 0)
    problems.push(`a run gave ${stdoutBytes.length} bytes back, other than the ${input.length} it was given`);
  if (exitCode !== 0 || gaps.length > 0) problems.push(`a run ended with ${exitCode}, ${gaps.length} gaps`);
  counts["filter"] = (counts["filter"] ?? 0) + 1;
}

async function perform(host: Host, kind: string): Promise<void> {
  if (kind === "filter") return filter(host);
  const task = tasks[kind]!();
  const remote = await start(host, task);
  const what = `${kind} ${remote.id}`;
  const watch = new Watch(remote, what);
  const expected = await task.talk(remote, watch);
  await watch.done;
  if (watch.text !== expected) problems.push(`${what}: ${difference(watch.text, expected)}`);
  if (watch.exitCodes.length !== 1 || watch.exitCodes[0] !== task.exitCode)
    problems.push(`${what}: exit codes ${watch.exitCodes.join(", ")} instead of ${task.exitCode}`);
  const { exitCode } = await remote.exited;
  if (exitCode !== task.exitCode) problems.push(`${what}: exited with ${exitCode}`);
  counts[kind] = (counts[kind] ?? 0) + 1;
}

function difference(seen: string, expected: string): string {
  let at = 0;
  while (at < expected.length && seen[at] === expected[at]) at += 1;
  const shown = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 20), at + 20));
  return `${seen.length} bytes instead of ${expected.length}; at ${at} ${shown(seen)} instead of ${shown(expected)}`;
}

async function withinDeadline(task: Promise<void>, what: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), TASK_DEADLINE_MS);
  });
  try {
    await Promise.race([task, late]);
  } catch (error) {
    problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    clearTimeout(timer);
  }
}

/** Requests that are not repeated may be lost with their connection, but each has an end. */
async function ask(host: Host): Promise<void> {
  try {
    const { isDirectory } = await host.request("fs/getMetadata", { path: "file:///" });
    if (!isDirectory) problems.push("/ is not a directory");
    requests.answered += 1;
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    requests.lost += 1;
  }
}

/** The client cannot reconnect to a command: surviving a cut is the bridge's merit. */
function bridgeTo(target: string, program: string): { command: [string, ...string[]] } {
  return { command: [process.execPath, program, "bridge", "--stdio", "--url", target] };
}

/** `nats://HOST:PORT/NAME` is an executor of a fleet, `relay+http://HOST:PORT/NAME` one behind a relay. */
function targetOf(): ConnectTarget {
  const { protocol, host, pathname } = new URL(url);
  const name = pathname.slice(1);
  if (protocol === "nats:") return { fleet: { servers: `nats://${host}` }, id: name };
  if (protocol === "relay+http:") return { relay: `http://${host}`, environmentId: name };
  return bridge === undefined ? url : bridgeTo(url, bridge);
}

async function connectThrough(): Promise<Host> {
  const token = process.env["FAULT_TOKEN"];
  for (;;) {
    try {
      // A machine that does much else gets little done between two faults.
      const patience = { recoveryTimeoutMs: 120_000 };
      return await connect(targetOf(), token === undefined ? patience : { ...patience, token });
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
    }
  }
}

async function main(): Promise<void> {
  const host = await connectThrough();
  host.onStateChange((state) => {
    if (state === "recovering") recoveries += 1;
  });
  const end = performance.now() + Number(seconds) * 1000;
  const kinds = ["echo", "quiet", "burst", "terminal", "filter", "quiet", "terminal", "echo"];
  // On a slow machine it takes longer until every kind was run often enough.
  const isOver = (): boolean =>
    performance.now() >= end && kinds.every((kind) => (counts[kind] ?? 0) >= MIN_OF_EACH_KIND);
  const worker = async (index: number): Promise<void> => {
    for (let turn = index; !isOver() && problems.length === 0; turn += 1) {
      const kind = kinds[turn % kinds.length]!;
      await withinDeadline(perform(host, kind), kind);
    }
  };
  const asker = async (): Promise<void> => {
    while (performance.now() < end && problems.length === 0) await withinDeadline(ask(host), "a request");
  };
  await Promise.all([...Array.from({ length: PARALLEL }, (_, index) => worker(index)), asker()]);
  process.stdout.write(`${problems.length === 0 ? "drained" : JSON.stringify(problems)}\n`);
  // The test looks for what lost starts have left, and then says so.
  await new Promise<void>((resolve) => process.stdin.once("data", () => resolve()));
  await host.close();
  process.stdin.destroy();
  const report: WorkloadReport = {
    processes: counts,
    bytes,
    lostStarts,
    requests,
    recoveries,
    problems,
    resources: process.getActiveResourcesInfo(),
  };
  process.stdout.write(`closed ${JSON.stringify(report)}\n`);
}

void main();
