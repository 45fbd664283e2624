import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { InputWriter, TerminalInput } from "./input-writer.ts";
import { ManagedProcess, type ProcessOptions } from "./managed-process.ts";
import type { ProcessEvent, StreamName } from "./output/output-log.ts";
import type { OutputSink } from "./output/output-source.ts";
import type { MachineUsage } from "./usage/machine-usage.ts";

const LIMITS = { maxRetainedBytes: 100, maxRetainedChunks: 10 };
const GRACE_MS = 500;
/** How long a process's exit waits for its output. */
const SETTLE_MS = 20;
const USAGE = { cpuMs: 1, memoryBytes: 2, processes: 3, atMs: 4 };
const cpuTimeMs = { user: 1, system: 2 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A process without a process: its calls are recorded, and its streams end when the test says so. */
class Scene {
  /** The calls that its family got. */
  readonly calls: string[] = [];
  /** The calls that its streams got. */
  readonly streamed: string[] = [];
  readonly events: string[] = [];
  readonly sinks: OutputSink[] = [];
  readonly process: ManagedProcess;
  readonly family = { contained: false, gone: false };
  inputCloses = 0;

  constructor(options: ProcessOptions = {}, streams: readonly StreamName[] = ["stdout", "stderr"]) {
    const input = {
      close: () => {
        this.inputCloses += 1;
      },
    } as Partial<InputWriter> as InputWriter;
    const terminal = { ...input, size: { rows: 24, columns: 80 } } as Partial<TerminalInput> as TerminalInput;
    this.process = new ManagedProcess(
      {
        pid: 7,
        family: Object.assign(this.family, {
          signal: (signal: string) => void this.calls.push(signal),
          terminate: (outputs: readonly unknown[]) => void this.calls.push(`terminate ${outputs.length}`),
          killGroup: () => void this.calls.push("killGroup"),
          kill: (outputs: readonly unknown[]) => void this.calls.push(`kill ${outputs.length}`),
          members: () => [7, 8],
          usage: () => USAGE,
          leaderReaped: () => void this.calls.push("leaderReaped"),
        }),
        input,
        ...(streams.includes("pty") ? { terminal } : {}),
        outputs: streams.map((stream, at) => ({
          stream,
          end: { kind: "pipe", fd: at },
          open: (sink) => {
            this.sinks.push(sink);
            const record = (call: string) => () => void this.streamed.push(`${call} ${stream}`);
            let ended = false;
            const finish = (): void => {
              if (ended) return;
              ended = true;
              this.streamed.push(`finish ${stream}`);
              sink.end();
            };
            return { pause: record("pause"), resume: record("resume"), hurry: record("hurry"), finish };
          },
        })),
      },
      LIMITS,
      options,
    );
    this.process.listen((event) => this.events.push(describeEvent(event)));
  }

  exit(exitCode = 0, signal?: number): void {
    const usage = { userMs: 1, systemMs: 2, peakMemoryBytes: 0 };
    this.process.exited({ exitCode, signal, usage });
  }

  write(text: string, stream = 0): void {
    this.sinks[stream]!.data(Buffer.from(text));
  }

  endOutputs(): void {
    for (const sink of this.sinks) sink.end();
  }
}

function describeEvent(event: ProcessEvent): string {
  const { kind, seq } = event;
  if (event.kind === "output") return `${seq} ${event.stream} ${Buffer.from(event.bytes).toString()}`;
  return event.kind === "exited" ? `${seq} exited ${event.exitCode}` : `${seq} ${kind}`;
}

describe("a process", () => {
  it("reports output, its exit and the end, each with a number, and keeps them", () => {
    const scene = new Scene();
    const { process } = scene;
    scene.write("a");
    scene.write("b", 1);
    scene.endOutputs();
    expect(process.state).toMatchObject({
      nextSeq: 3,
      exitCode: undefined,
      sandboxDenied: false,
      closed: false,
    });
    scene.exit(3);
    expect(scene.events).toEqual(["1 stdout a", "2 stderr b", "3 exited 3", "4 closed"]);
    expect(process.state).toEqual({
      nextSeq: 5,
      exitCode: 3,
      report: { cpuTimeMs },
      sandboxDenied: false,
      closed: true,
      exitSeq: 3,
    });
    expect(process.chunksAfter(1, 100).map(({ seq, stream }) => [seq, stream])).toEqual([[2, "stderr"]]);
    expect(process.event(3)).toMatchObject({ kind: "exited", exitCode: 3 });
    expect(process.firstSeq).toBe(1);
    expect(process.outputBytes).toEqual({ total: 2, retained: 2 });
    expect(process.timesFrom(1, 9)).toEqual({ firstSeq: 1, timesMs: Array(4).fill(Date.now()) });
    expect(Buffer.from(process.snapshot("stdout", 9).head).toString()).toBe("a");
    expect(process.streams).toEqual(["stdout", "stderr"]);
    expect([scene.inputCloses, scene.calls]).toEqual([1, ["leaderReaped"]]);
  });

  it("reports its exit once, after a moment, if something keeps its output open", () => {
    const scene = new Scene();
    scene.exit(3);
    expect(scene.streamed).toEqual(["hurry stdout", "hurry stderr"]);
    vi.advanceTimersByTime(SETTLE_MS - 1);
    expect(scene.events).toEqual([]);
    vi.advanceTimersByTime(1);
    vi.runAllTimers();
    expect(scene.events).toEqual(["1 exited 3"]);
    scene.write("late");
    scene.endOutputs();
    expect(scene.events).toEqual(["1 exited 3", "2 stdout late", "3 closed"]);
  });

  it("reports its exit after output that comes in that moment", () => {
    const scene = new Scene();
    scene.exit();
    scene.write("last");
    scene.endOutputs();
    vi.runAllTimers();
    expect(scene.events).toEqual(["1 stdout last", "2 exited 0", "3 closed"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends its output with itself on request", () => {
    const scene = new Scene({ closeOnExit: true });
    scene.exit();
    expect(scene.streamed).toEqual(["finish stdout", "finish stderr"]);
    expect(scene.events).toEqual(["1 exited 0", "2 closed"]);
  });

  it("stops reporting to who no longer listens", () => {
    const scene = new Scene();
    const seen: string[] = [];
    const unlisten = scene.process.listen((event) => seen.push(describeEvent(event)));
    scene.write("a");
    unlisten();
    scene.write("b");
    expect(seen).toEqual(["1 stdout a"]);
  });

  it("reports what its family uses until it has ended", () => {
    const scene = new Scene();
    const machine = {} as MachineUsage;
    expect(scene.process.usage(machine)).toEqual(USAGE);
    expect([...scene.process.members(machine)]).toEqual([7, 8]);
    scene.exit();
    expect(scene.process.usage(machine)).toBeUndefined();
    expect([...scene.process.members(machine)]).toEqual([]);
  });

  it("reports once that it gave up output", () => {
    let evicted = 0;
    const scene = new Scene({
      evicted: () => {
        evicted += 1;
      },
    });
    for (let count = 0; count < 10; count += 1) scene.write("x".repeat(10));
    expect(evicted).toBe(0);
    for (let count = 0; count < 10; count += 1) scene.write("x".repeat(10));
    expect(evicted).toBe(1);
    expect(scene.process.outputBytes).toEqual({ total: 200, retained: 100 });
    expect(scene.process.firstSeq).toBe(11);
  });

  it("is paused while anybody wants it to be", () => {
    const { process, streamed } = new Scene({}, ["stdout"]);
    process.pauseOutput();
    process.pauseOutput();
    process.resumeOutput();
    expect(streamed).toEqual(["pause stdout"]);
    process.resumeOutput();
    expect(streamed).toEqual(["pause stdout", "resume stdout"]);
  });

  it("seems to be denied something only if it is in a sandbox", () => {
    for (const sandboxed of [true, false]) {
      const scene = new Scene({ sandboxed });
      scene.write("cat: /etc/shadow: Permission denied", 1);
      scene.endOutputs();
      scene.exit(1);
      expect(scene.process.state.sandboxDenied).toBe(sandboxed);
    }
  });

  it("has a screen if it runs on a terminal", async () => {
    vi.useRealTimers();
    const onTerminal = new Scene({}, ["pty"]);
    onTerminal.write("hello");
    expect((await onTerminal.process.screen())?.lines[0]).toBe("hello");
    expect(onTerminal.process.streams).toEqual(["pty"]);
    expect(await new Scene().process.screen()).toBeUndefined();
  });

  it("waits for its screen to be ready if that is followed", async () => {
    vi.useRealTimers();
    const { process, streamed } = new Scene({ followScreen: true }, ["pty"]);
    expect(streamed).toEqual(["pause pty"]);
    await process.screen();
    expect(streamed).toEqual(["pause pty", "resume pty"]);
    expect(new Scene({ followScreen: true }).streamed).toEqual([]);
  });
});

describe("ending a process", () => {
  it("signals its group until it has ended, and says who did", () => {
    const scene = new Scene();
    scene.process.signal("SIGTERM");
    scene.endOutputs();
    scene.exit(143, 15);
    scene.process.signal("SIGKILL");
    expect(scene.calls).toEqual(["SIGTERM", "leaderReaped"]);
    expect(scene.process.state.report).toEqual({ signal: "SIGTERM", killedBy: "client", cpuTimeMs });
  });

  it("kills the group or the family, and ends the output with the process", () => {
    for (const [reach, calls] of [
      ["group", "killGroup"],
      ["family", "kill 2"],
    ] as const) {
      const scene = new Scene();
      scene.process.kill(reach);
      expect([scene.calls, scene.process.killed, scene.streamed]).toEqual([[calls], true, []]);
      scene.exit(137, 9);
      expect(scene.streamed).toEqual(["finish stdout", "finish stderr"]);
      expect(scene.events).toEqual(["1 exited 137", "2 closed"]);
      expect(scene.process.state.report).toEqual({ signal: "SIGKILL", killedBy: "client", cpuTimeMs });
      // It is over.
      scene.process.kill("family");
      expect(scene.calls).toEqual([calls, "leaderReaped"]);
    }
  });

  it("kills what an ended process left only if that holds the output, and only the family", () => {
    const scene = new Scene();
    scene.exit();
    scene.process.kill("group");
    expect([scene.calls, scene.process.killed]).toEqual([["leaderReaped"], false]);
    scene.sinks[0]!.end();
    scene.process.kill("family");
    expect([scene.calls, scene.process.killed]).toEqual([["leaderReaped", "kill 1"], true]);
    expect(scene.events).toEqual(["1 exited 0", "2 closed"]);
  });

  it("asks the family, and kills what is left of it after the grace period, also after the exit", () => {
    const scene = new Scene();
    scene.process.terminate(GRACE_MS, "client");
    // Neither asks nor waits for longer.
    scene.process.terminate(2 * GRACE_MS, "client");
    expect(scene.calls).toEqual(["terminate 2", "terminate 2"]);
    scene.endOutputs();
    scene.exit(0);
    vi.advanceTimersByTime(GRACE_MS - 1);
    expect(scene.calls).toEqual(["terminate 2", "terminate 2", "leaderReaped"]);
    vi.advanceTimersByTime(1);
    expect(scene.calls.at(-1)).toBe("kill 0");
    vi.runAllTimers();
    expect(scene.calls.filter((call) => call.startsWith("kill"))).toHaveLength(1);
    scene.process.terminate(GRACE_MS, "client");
    expect(scene.calls.at(-1)).toBe("kill 0");
  });

  it("kills once, although the grace period ends later", () => {
    const scene = new Scene();
    scene.process.terminate(GRACE_MS, "client");
    scene.process.kill("family");
    vi.runAllTimers();
    expect(scene.calls).toEqual(["terminate 2", "kill 2"]);
  });

  it("ends it when its time is over, and says so", () => {
    const scene = new Scene({ timeoutMs: 1_000 });
    vi.advanceTimersByTime(999);
    expect(scene.calls).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(scene.calls).toEqual(["terminate 2"]);
    vi.advanceTimersByTime(2_000);
    expect(scene.calls).toEqual(["terminate 2", "kill 2"]);
    scene.exit(137, 9);
    expect(scene.process.state.report).toEqual({
      signal: "SIGKILL",
      killedBy: "timeout",
      timedOut: true,
      cpuTimeMs,
    });
  });

  it("leaves one alone that has ended in time", () => {
    const scene = new Scene({ timeoutMs: 1_000 });
    scene.exit();
    vi.advanceTimersByTime(5_000);
    expect(scene.calls).toEqual(["leaderReaped"]);
    expect(scene.process.state.report).toEqual({ cpuTimeMs });
  });

  it("kills the group of one that nobody wants any more, unless it is over", () => {
    const scene = new Scene();
    scene.process.dispose();
    expect(scene.calls).toEqual(["killGroup"]);
    scene.exit(137, 9);
    expect(scene.process.state.report?.killedBy).toBe("server");
    scene.process.dispose();
    expect(scene.calls).toEqual(["killGroup", "leaderReaped"]);
    expect(scene.process.gone).toBe(true);
  });

  it("reaches what a contained process left, also when its output is closed", () => {
    const scene = new Scene();
    scene.family.contained = true;
    scene.endOutputs();
    scene.exit();
    expect([scene.process.state.closed, scene.process.gone]).toEqual([true, false]);
    scene.process.kill("group");
    scene.process.terminate(GRACE_MS, "client");
    scene.process.dispose();
    expect(scene.calls).toEqual(["leaderReaped", "killGroup", "terminate 0", "killGroup"]);
    // It was not ended by that.
    expect(scene.process.killed).toBe(false);
    scene.family.gone = true;
    expect(scene.process.gone).toBe(true);
  });
});
