import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConnectionError, ExecError, RpcError } from "../../base/errors.ts";
import type { ExecToolEvent } from "./events.ts";
import { createExecTools } from "./exec-tools.ts";
import type { ExecTools, ExecToolsOptions } from "./exec-tools-api.ts";
import type { ToolHost, ToolProcess, ToolProcessEvent } from "./tool-host.ts";

const utf8 = new TextEncoder();
const output = (text: string | Uint8Array, stream: "stdout" | "stderr" | "pty" = "stdout") =>
  ({ kind: "output", stream, bytes: typeof text === "string" ? utf8.encode(text) : text }) as const;
const exited = (exitCode: number | null) => ({ kind: "exited", exitCode }) as const;
const closed = { kind: "closed" } as const;

/** A process whose events the test emits. */
class FakeProcess implements ToolProcess {
  readonly id: string;
  readonly written: string[] = [];
  interrupts = 0;
  kills = 0;
  /** What `write`, `interrupt` and `kill` do besides being counted. */
  onWrite: () => Promise<void> = () => Promise.resolve();
  onKill: () => void = () => this.tell(exited(137), closed);
  signal: AbortSignal | undefined;
  heedsSignal = true;
  readonly #told: (ToolProcessEvent | Error | "end")[] = [];
  #wake: () => void = () => {};

  constructor(id: string) {
    this.id = id;
  }

  tell(...events: (ToolProcessEvent | Error | "end")[]): void {
    this.#told.push(...events);
    this.#wake();
  }

  async *events({ signal }: { signal: AbortSignal }): AsyncGenerator<ToolProcessEvent> {
    this.signal = signal;
    signal.addEventListener("abort", () => this.#wake());
    for (;;) {
      if (this.heedsSignal) signal.throwIfAborted();
      const next = this.#told.shift();
      if (next === "end") return;
      if (next instanceof Error) throw next;
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  write(data: string): Promise<void> {
    this.written.push(data);
    return this.onWrite();
  }

  interrupt(): Promise<void> {
    this.interrupts += 1;
    return this.onWrite();
  }

  kill(): Promise<boolean> {
    this.kills += 1;
    this.onKill();
    return Promise.resolve(true);
  }
}

type Started = { argv: readonly string[]; options: object; terminal: boolean };

class FakeHost implements ToolHost {
  environment: NonNullable<ToolHost["environment"]> | undefined = {
    shell: { path: "/bin/bash" },
    cwd: "file:///srv/w%20d",
  };
  readonly processes: FakeProcess[] = [];
  readonly started: Started[] = [];
  /** Events that the next process begins with. */
  script: (ToolProcessEvent | Error | "end")[] = [];
  beforeStart: () => Promise<void> = () => Promise.resolve();

  start(argv: readonly string[], options: object): Promise<ToolProcess> {
    return this.#launch({ argv, options, terminal: false });
  }

  terminal(argv: readonly string[], options: object): Promise<ToolProcess> {
    return this.#launch({ argv, options, terminal: true });
  }

  get last(): FakeProcess {
    return this.processes.at(-1)!;
  }

  async #launch(started: Started): Promise<ToolProcess> {
    this.started.push(started);
    await this.beforeStart();
    const process = new FakeProcess(`p-${this.processes.length + 1}`);
    process.tell(...this.script);
    this.processes.push(process);
    return process;
  }
}

let host: FakeHost;
let tools: ExecTools;
let events: ExecToolEvent[];

function useTools(options: ExecToolsOptions = {}): void {
  tools = createExecTools(host, options);
  events = [];
  tools.onEvent((event) => events.push(event));
}

beforeEach(() => {
  vi.useFakeTimers();
  host = new FakeHost();
  useTools();
});
afterEach(() => void vi.useRealTimers());

/** The value of a promise that needs that much time, and no less than all but a millisecond of it. */
async function after<T>(timeMs: number, promise: Promise<T>): Promise<T> {
  let settled = false;
  const settle = (): void => void (settled = true);
  promise.then(settle, settle);
  await vi.advanceTimersByTimeAsync(timeMs === 0 ? 0 : timeMs - 1);
  if (timeMs > 0) {
    expect(settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(settled).toBe(true);
  return promise;
}

/** A command that runs on as a session. */
async function startSession(args: { cmd?: string; tty?: boolean } = {}): Promise<FakeProcess> {
  host.script = [];
  await after(250, tools.exec_command({ cmd: "serve", yield_time_ms: 250, ...args }));
  return host.last;
}

const types = (): string[] => events.map((event) => event.type);
const endEvents = (): ExecToolEvent[] => events.filter((event) => event.type === "end");

describe("exec_command", () => {
  it("returns output and exit code of a command that ends in time, and no session", async () => {
    host.script = [output("one\n"), output("two\n", "stderr"), exited(3), closed];
    const result = await after(0, tools.exec_command({ cmd: "make" }));
    expect(result).toEqual({
      output: "one\ntwo\n",
      exit_code: 3,
      command: "make",
      wall_time_seconds: 0,
      original_token_count: 2,
      omitted_tokens: 0,
      omitted_bytes: 0,
      notes: [],
    });
    expect(tools.list()).toEqual([]);
  });

  it("returns a session when the yield window is over", async () => {
    host.script = [output("starting\n")];
    const result = await after(10_000, tools.exec_command({ cmd: "npm  run\ndev" }));
    expect(result).toMatchObject({ output: "starting\n", session_id: 1, wall_time_seconds: 10 });
    expect(result).not.toHaveProperty("exit_code");
    expect(tools.list()).toMatchObject([
      { sessionId: 1, command: "npm run dev", running: true, cwd: "/srv/w d", tty: false, pendingBytes: 0 },
    ]);
  });

  it.each([
    [undefined, 10_000],
    [null, 10_000],
    [1000, 1000],
    [-5, 250],
    [0, 250],
    [99_999, 30_000],
  ])("takes a yield_time_ms of %s as %s", async (asked, used) => {
    await after(
      used,
      tools.exec_command({ cmd: "sleep 99", ...(asked === undefined ? {} : { yield_time_ms: asked }) }),
    );
  });

  it("gives the process the whole window, however long its start took", async () => {
    host.beforeStart = () => new Promise((resolve) => void setTimeout(resolve, 4000));
    const result = await after(5000, tools.exec_command({ cmd: "x", yield_time_ms: 1000 }));
    expect(result).toMatchObject({ session_id: 1, wall_time_seconds: 5 });
  });

  it("waits for trailing output after the exit", async () => {
    host.script = [exited(0)];
    const running = tools.exec_command({ cmd: "x" });
    await vi.advanceTimersByTimeAsync(3000);
    host.last.tell(output("late"), closed);
    expect(await after(0, running)).toMatchObject({ output: "late", exit_code: 0, notes: [] });
  });

  it("is not held by a background process beyond the window", async () => {
    host.script = [output("started\n"), exited(0)];
    const result = await after(1000, tools.exec_command({ cmd: "server &", yield_time_ms: 1000 }));
    expect(result).toMatchObject({ output: "started\n", exit_code: 0 });
    expect(result.notes[0]).toContain("A background process holds the output open");
    expect(result).not.toHaveProperty("session_id");
    expect(tools.list()).toEqual([]);
    expect(host.last.kills).toBe(0);
    expect(host.last.signal?.aborted).toBe(true);
    expect(endEvents()).toMatchObject([{ exitCode: 0, output: "started\n" }]);
  });

  it("runs cmd with the machine's login shell, in the server's directory, without stdin, colours and pagers", async () => {
    host.script = [exited(0), closed];
    await after(0, tools.exec_command({ cmd: "a | b" }));
    expect(host.started).toEqual([
      {
        argv: ["/bin/bash", "-lc", "a | b"],
        options: {
          cwd: "/srv/w d",
          env: { NO_COLOR: "1", TERM: "dumb", PAGER: "cat", GIT_PAGER: "cat", GH_PAGER: "cat" },
          stdin: "none",
        },
        terminal: false,
      },
    ]);
  });

  it("runs what the options and the call say", async () => {
    useTools({
      cwd: "/repo/",
      shell: "/bin/zsh",
      env: { TERM: "xterm", A: "1" },
      terminalSize: { cols: 100, rows: 30 },
    });
    host.script = [exited(0), closed];
    await after(
      0,
      tools.exec_command({ cmd: "x", workdir: "pkg", login: false, tty: true, env: { A: "2" } }),
    );
    await after(0, tools.exec_command({ cmd: "x", shell: "fish", workdir: "/abs" }));
    await after(0, tools.exec_command({ argv: ["ls", "-l"] }));
    expect(host.started).toMatchObject([
      {
        argv: ["/bin/zsh", "-c", "x"],
        options: { cwd: "/repo/pkg", env: { TERM: "xterm", A: "2", NO_COLOR: "1" }, cols: 100, rows: 30 },
        terminal: true,
      },
      { argv: ["fish", "-lc", "x"], options: { cwd: "/abs" }, terminal: false },
      { argv: ["ls", "-l"], options: { cwd: "/repo/" } },
    ]);
    expect(host.started[0]?.options).not.toHaveProperty("stdin");
    useTools();
    await after(0, tools.exec_command({ cmd: "x", tty: true }));
    expect(host.started.at(-1)?.options).not.toHaveProperty("cols");
  });

  it("leaves out the login profile where the options say so, tells the model, and heeds a call that asks for it", async () => {
    useTools({ login: false, specKind: "prepared" });
    host.script = [exited(0), closed];
    await after(0, tools.exec_command({ cmd: "x" }));
    await after(0, tools.exec_command({ cmd: "x", login: true, tty: true }));
    expect(host.started).toMatchObject([
      { argv: ["/bin/bash", "-c", "x"], options: { specKind: "prepared" }, terminal: false },
      { argv: ["/bin/bash", "-lc", "x"], options: { specKind: "prepared" }, terminal: true },
    ]);
    const login = (definitions: ExecTools["definitions"]) => definitions[0]?.parameters.properties["login"];
    expect(login(tools.definitions)?.description).toMatch(/Default false\.$/);
    useTools();
    expect(login(tools.definitions)?.description).toMatch(/Default true\.$/);
    await after(0, tools.exec_command({ cmd: "x" }));
    expect(host.started.at(-1)?.options).not.toHaveProperty("specKind");
  });

  it("falls back on /bin/sh, and leaves the directory to the server, when the server says nothing", async () => {
    host.environment = undefined;
    host.script = [exited(0), closed];
    await after(0, tools.exec_command({ cmd: "x" }));
    expect(host.started[0]?.argv).toEqual(["/bin/sh", "-lc", "x"]);
    expect(host.started[0]?.options).not.toHaveProperty("cwd");
    await expect(tools.exec_command({ cmd: "x", workdir: "here" })).rejects.toThrow(
      'workdir must be an absolute path, not "here"',
    );
  });

  it("cuts output to the tokens asked for and says how much is missing", async () => {
    host.script = [output("a".repeat(40)), output("z".repeat(40)), exited(0), closed];
    const result = await after(0, tools.exec_command({ cmd: "x", max_output_tokens: 4 }));
    expect(result).toMatchObject({
      output: "aaaaaaaa\n… about 16 tokens (64 bytes) omitted …\nzzzzzzzz",
      original_token_count: 20,
      omitted_tokens: 16,
      omitted_bytes: 64,
    });
  });

  it("returns 10000 tokens unless asked, and never more than the options allow", async () => {
    host.script = [output("a".repeat(100_000)), exited(0), closed];
    expect(await after(0, tools.exec_command({ cmd: "x" }))).toMatchObject({ omitted_bytes: 60_000 });
    useTools({ maxOutputTokens: 100 });
    expect(await after(0, tools.exec_command({ cmd: "x", max_output_tokens: 5000 }))).toMatchObject({
      omitted_bytes: 99_600,
    });
  });

  it("joins characters that pieces, the other stream or calls have split", async () => {
    const bytes = utf8.encode("ä😀");
    host.script = [output(bytes.subarray(0, 1)), output("-", "stderr"), output(bytes.subarray(1, 4))];
    expect(await after(250, tools.exec_command({ cmd: "x", yield_time_ms: 250 }))).toMatchObject({
      output: "-ä",
    });
    host.last.tell(output(bytes.subarray(4)));
    expect(await after(250, tools.write_stdin({ session_id: 1, yield_time_ms: 250 }))).toMatchObject({
      output: "😀",
    });
    host.last.tell(output(Uint8Array.of(0xc3)), exited(0), closed);
    expect(await after(0, tools.write_stdin({ session_id: 1 }))).toMatchObject({ output: "\ufffd" });
  });

  it("tells of lost output once", async () => {
    host.script = [{ kind: "gap", fromSeq: 2, toSeq: 2 }];
    const { notes } = await after(250, tools.exec_command({ cmd: "x", yield_time_ms: 250 }));
    expect(notes).toHaveLength(1);
    expect(await after(5000, tools.write_stdin({ session_id: 1 }))).toMatchObject({ notes: [] });
  });

  it("tells of output that was lost on the way, and of a sandbox's refusal", async () => {
    host.script = [
      output("a"),
      { kind: "gap", fromSeq: 2, toSeq: 4 },
      { kind: "exited", exitCode: 1, sandboxDenied: true },
      closed,
    ];
    const { notes } = await after(0, tools.exec_command({ cmd: "x" }));
    expect(notes).toEqual([
      "Some output was lost with the connection (3 pieces or more).",
      "The sandbox refused something that the command tried.",
    ]);
  });

  it("reports a failed start with its reason, without events and without a session", async () => {
    host.beforeStart = () => Promise.reject(new RpcError(-32603, "No such file or directory"));
    await expect(tools.exec_command({ argv: ["nope"] })).rejects.toThrow(
      "exec_command: nope was not started in /srv/w d: No such file or directory",
    );
    expect(events).toEqual([]);
    expect(tools.list()).toEqual([]);
  });

  it("returns what is known when the connection is lost", async () => {
    host.script = [output("half"), { kind: "failed", message: "the session was lost" }];
    const result = await after(0, tools.exec_command({ cmd: "x" }));
    expect(result).toMatchObject({ output: "half", failure: "the session was lost" });
    expect(result).not.toHaveProperty("exit_code");
    expect(result).not.toHaveProperty("session_id");
  });

  it("leaves the exit code out when the server did not say it", async () => {
    host.script = [exited(null), closed];
    const result = await after(0, tools.exec_command({ cmd: "x" }));
    expect(result).not.toHaveProperty("exit_code");
    expect(result).not.toHaveProperty("session_id");
  });
});

describe("write_stdin", () => {
  it("sends characters and returns what is new since the last call", async () => {
    const process = await startSession({ tty: true });
    process.tell(output("$ ", "pty"));
    const result = await after(250, tools.write_stdin({ session_id: 1, chars: "ls\n" }));
    expect(process.written).toEqual(["ls\n"]);
    expect(result).toMatchObject({ output: "$ ", session_id: 1, wall_time_seconds: 0.25 });
    process.tell(output("file\n", "pty"));
    expect(await after(5000, tools.write_stdin({ session_id: 1, chars: "" }))).toMatchObject({
      output: "file\n",
    });
    expect(process.written).toEqual(["ls\n"]);
  });

  it("returns early with the exit code when the process ends, and forgets the session", async () => {
    const process = await startSession();
    const poll = tools.write_stdin({ session_id: 1 });
    await vi.advanceTimersByTimeAsync(100);
    process.tell(output("bye"), exited(0), closed);
    expect(await after(0, poll)).toMatchObject({ output: "bye", exit_code: 0 });
    expect(tools.list()).toEqual([]);
    await expect(tools.write_stdin({ session_id: 1 })).rejects.toThrow(
      "session 1 has ended, as an earlier call said; no session is open",
    );
  });

  it("tells an end that came between two calls, with the output", async () => {
    const process = await startSession();
    process.tell(output("bye"), exited(2), closed);
    await vi.advanceTimersByTimeAsync(0);
    expect(tools.list()).toMatchObject([{ sessionId: 1, running: false, exitCode: 2, pendingBytes: 3 }]);
    expect(await after(0, tools.write_stdin({ session_id: 1, chars: "x" }))).toMatchObject({
      output: "bye",
      exit_code: 2,
      notes: ["The process had ended before the input could be sent."],
    });
  });

  it("names the open sessions when there is no such one", async () => {
    await startSession({ cmd: "npm run dev" });
    await startSession({ cmd: "python3" });
    await expect(tools.write_stdin({ session_id: 9 })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "there is no session 9; open sessions: 1 (npm run dev), 2 (python3)",
    });
  });

  it("interrupts a process without a terminal when it gets Ctrl-C", async () => {
    const process = await startSession();
    process.onWrite = async () => process.tell(exited(130), closed);
    expect(await after(0, tools.write_stdin({ session_id: 1, chars: "\u0003" }))).toMatchObject({
      exit_code: 130,
    });
    expect([process.interrupts, process.written]).toEqual([1, []]);
  });

  it("writes Ctrl-C to a terminal", async () => {
    const process = await startSession({ tty: true });
    await after(250, tools.write_stdin({ session_id: 1, chars: "\u0003" }));
    expect([process.interrupts, process.written]).toEqual([0, ["\u0003"]]);
  });

  it("refuses text for a process without a terminal, and says what to do", async () => {
    const process = await startSession();
    await expect(tools.write_stdin({ session_id: 1, chars: "y\n" })).rejects.toThrow(
      /session 1 has no terminal .* run the command again with tty set to true/,
    );
    expect(process.written).toEqual([]);
    expect(types()).toEqual(["begin"]);
  });

  it("keeps a bounded part of what nobody asks for", async () => {
    const process = await startSession();
    const piece = new Uint8Array(64 * 1024).fill(0x61);
    for (let count = 0; count < 48; count += 1) process.tell(output(piece));
    const result = await after(
      250,
      tools.write_stdin({ session_id: 1, yield_time_ms: 250, max_output_tokens: 1e9 }),
    );
    expect(result).toMatchObject({
      omitted_bytes: 2 * 1024 * 1024,
      original_token_count: (3 * 1024 * 1024) / 4,
    });
  });

  it("reports input that was refused, unless the process turns out to have ended", async () => {
    const process = await startSession({ tty: true });
    process.onWrite = () => Promise.reject(new RpcError(-32603, "stdin is closed"));
    await expect(after(250, tools.write_stdin({ session_id: 1, chars: "x" }))).rejects.toThrow(
      "session 1 did not take the input: stdin is closed",
    );
    const sending = tools.write_stdin({ session_id: 1, chars: "x" });
    await vi.advanceTimersByTimeAsync(100);
    process.tell(output("bye"), exited(0), closed);
    expect(await after(0, sending)).toMatchObject({
      output: "bye",
      exit_code: 0,
      notes: ["The input was not taken: stdin is closed."],
    });
  });

  it("does not wait for input to be taken beyond the window", async () => {
    const process = await startSession({ tty: true });
    process.onWrite = () => new Promise(() => {});
    const result = await after(250, tools.write_stdin({ session_id: 1, chars: "x" }));
    expect(result.notes).toEqual(["The process has not taken the input yet; do not send it again."]);
  });
});

describe("sessions", () => {
  it("are ended at the bound: the one used longest ago, but none of the last eight", async () => {
    useTools({ maxSessions: 10 });
    for (let count = 0; count < 10; count += 1) await startSession({ cmd: `job ${count + 1}` });
    await after(250, tools.write_stdin({ session_id: 1, yield_time_ms: 250 }));
    const result = await after(250, tools.exec_command({ cmd: "one more", yield_time_ms: 250 }));
    expect(result).toMatchObject({ session_id: 11, notes: ["Session 2 (job 2) was ended to make room."] });
    expect(host.processes.map((process) => process.kills)).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(endEvents()).toMatchObject([{ callId: "call-2", exitCode: 137 }]);
    await expect(tools.write_stdin({ session_id: 2 })).rejects.toThrow(
      "session 2 was ended to make room for newer sessions",
    );
    // 3 is in use and so becomes the one used last; 4 is then the one used longest ago.
    const poll = tools.write_stdin({ session_id: 3 });
    await startSession();
    expect(host.processes.map((process) => process.kills).slice(0, 5)).toEqual([0, 1, 0, 1, 0]);
    await vi.advanceTimersByTimeAsync(5000);
    await poll;
  });

  it("that have ended go first, the oldest of them", async () => {
    useTools({ maxSessions: 3 });
    for (let count = 0; count < 3; count += 1) await startSession({ cmd: `job ${count + 1}` });
    host.processes[2]!.tell(exited(0), closed);
    host.processes[1]!.tell(exited(0), closed);
    await vi.advanceTimersByTimeAsync(0);
    const result = await after(250, tools.exec_command({ cmd: "x", yield_time_ms: 250 }));
    expect(result.notes).toEqual([
      "Session 2 (job 2) had ended and was dropped to make room; its last output was not read.",
    ]);
    expect(tools.list().map((session) => session.sessionId)).toEqual([1, 3, 4]);
    expect(host.processes.map((process) => process.kills)).toEqual([0, 0, 0, 0]);
  });

  it("in use are not ended, nor those used last: a command too many is refused", async () => {
    useTools({ maxSessions: 2 });
    const running = tools.exec_command({ cmd: "a", yield_time_ms: 20_000 });
    await startSession({ cmd: "b" });
    await expect(tools.exec_command({ cmd: "c" })).rejects.toThrow(
      "commands that may run at once (2) are in use",
    );
    expect(host.processes.map((process) => process.kills)).toEqual([0, 0]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await running).toMatchObject({ session_id: 1 });
    await startSession();
    expect(host.processes.map((process) => process.kills)).toEqual([1, 0, 0]);
  });

  it("count from the moment they start", async () => {
    useTools({ maxSessions: 1 });
    host.beforeStart = () => new Promise((resolve) => void setTimeout(resolve, 100));
    const first = tools.exec_command({ cmd: "a", yield_time_ms: 250 });
    await expect(tools.exec_command({ cmd: "b" })).rejects.toThrow(
      "commands that may run at once (1) are in use",
    );
    await after(350, first);
  });

  it("that have ended stay while a call waits for their last output", async () => {
    useTools({ maxSessions: 2 });
    const first = await startSession();
    const second = await startSession();
    first.tell(exited(0));
    const poll = tools.write_stdin({ session_id: 1 });
    await vi.advanceTimersByTimeAsync(0);
    await startSession();
    expect(second.kills).toBe(1);
    first.tell(output("last"), closed);
    expect(await after(0, poll)).toMatchObject({ output: "last", exit_code: 0 });
  });

  it("that were killed end with their exit, whatever else holds their output", async () => {
    useTools({ maxSessions: 1 });
    const process = await startSession();
    process.onKill = () => process.tell(exited(137));
    await startSession();
    expect(endEvents()).toMatchObject([{ callId: "call-1", exitCode: 137 }]);
  });

  it("give their place back when the start fails", async () => {
    useTools({ maxSessions: 1 });
    host.beforeStart = () => Promise.reject(new ExecError("NOT_FOUND", "no"));
    for (let count = 0; count < 3; count += 1)
      await expect(tools.exec_command({ cmd: "x" })).rejects.toThrow("was not started in /srv/w d: no");
  });

  it("all end when the tools are closed", async () => {
    const first = await startSession();
    const second = await startSession();
    const running = tools.exec_command({ cmd: "third" });
    await vi.advanceTimersByTimeAsync(0);
    await after(0, tools.close());
    expect(await running).toMatchObject({ exit_code: 137 });
    expect([first.kills, second.kills, host.last.kills]).toEqual([1, 1, 1]);
    expect(endEvents()).toHaveLength(3);
    expect(tools.list()).toEqual([]);
    await expect(tools.exec_command({ cmd: "x" })).rejects.toThrow("the tools are closed");
    await expect(tools.write_stdin({ session_id: 1 })).rejects.toThrow(
      "session 1 was ended: the tools are closed",
    );
    await tools[Symbol.asyncDispose]();
  });

  it("get an end even if closing learns nothing of them", async () => {
    const process = await startSession();
    process.onKill = () => {};
    await after(5000, tools.close());
    expect(endEvents()).toMatchObject([{ failure: "The tools were closed before the end was known" }]);
    process.tell(exited(0), closed);
    await vi.advanceTimersByTimeAsync(0);
    expect(endEvents()).toHaveLength(1);
  });

  it("that start while the tools close are killed", async () => {
    let go = (): void => {};
    host.beforeStart = () => new Promise((resolve) => (go = resolve));
    const starting = tools.exec_command({ cmd: "x" });
    const refused = expect(starting).rejects.toThrow("the tools were closed");
    await after(0, tools.close());
    go();
    await refused;
    expect(host.last.kills).toBe(1);
  });

  it("are bounded by options that are checked", () => {
    expect(() => createExecTools(host, { maxSessions: 0 })).toThrow(
      "maxSessions must be a whole number from 1 on",
    );
    expect(() => createExecTools(host, { maxOutputTokens: 0.5 })).toThrow("maxOutputTokens must be");
  });
});

describe("a cancelled call", () => {
  const reason = new Error("the user pressed stop");

  it("kills the process it started", async () => {
    const stop = new AbortController();
    const refused = expect(tools.exec_command({ cmd: "x" }, { signal: stop.signal })).rejects.toBe(reason);
    await vi.advanceTimersByTimeAsync(500);
    stop.abort(reason);
    await refused;
    expect(host.last.kills).toBe(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(types()).toEqual(["begin", "end"]);
    expect(tools.list()).toEqual([]);
  });

  it("does not wait for a start, and kills what starts late", async () => {
    let go = (): void => {};
    host.beforeStart = () => new Promise((resolve) => (go = resolve));
    const stop = new AbortController();
    const refused = expect(tools.call("exec_command", { cmd: "x" }, { signal: stop.signal })).rejects.toBe(
      reason,
    );
    stop.abort(reason);
    await refused;
    go();
    await vi.advanceTimersByTimeAsync(0);
    expect(host.last.kills).toBe(1);
    expect(events).toEqual([]);
  });

  it("starts nothing when it was cancelled before", async () => {
    await expect(tools.exec_command({ cmd: "x" }, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(host.started).toEqual([]);
  });

  it("leaves a session that it only talked to, and its output", async () => {
    const process = await startSession();
    const stop = new AbortController();
    const refused = expect(tools.write_stdin({ session_id: 1 }, { signal: stop.signal })).rejects.toBe(
      reason,
    );
    process.tell(output("kept"));
    await vi.advanceTimersByTimeAsync(100);
    stop.abort(reason);
    await refused;
    expect(process.kills).toBe(0);
    expect(await after(5000, tools.write_stdin({ session_id: 1 }))).toMatchObject({ output: "kept" });
  });
});

describe("events", () => {
  it("tell the life of a process under the id of the call that started it", async () => {
    host.script = [output("> ", "pty")];
    await after(
      250,
      tools.exec_command({ argv: ["repl"], tty: true, yield_time_ms: 250 }, { callId: "c-7" }),
    );
    host.last.onWrite = async () => host.last.tell(output("4\n", "pty"), exited(0), closed);
    await after(0, tools.write_stdin({ session_id: 1, chars: "2+2\n" }, { callId: "c-8" }));
    expect(events).toEqual([
      { type: "begin", callId: "c-7", processId: "p-1", argv: ["repl"], cwd: "/srv/w d" },
      { type: "output_delta", callId: "c-7", stream: "pty", bytes: utf8.encode("> ") },
      { type: "terminal_interaction", callId: "c-7", chars: "2+2\n" },
      { type: "output_delta", callId: "c-7", stream: "pty", bytes: utf8.encode("4\n") },
      { type: "end", callId: "c-7", exitCode: 0, durationMs: 250, output: "> 4\n", omittedBytes: 0 },
    ]);
  });

  it.each<[string, (ToolProcessEvent | Error | "end")[], string]>([
    ["the session is lost", [{ kind: "failed", message: "gone" }], "gone"],
    ["following it fails", [new ConnectionError("socket closed")], "socket closed"],
    ["its events just stop", ["end"], "The events of the process stopped"],
    ["its exit was lost", [closed], "The exit of the process was not told"],
  ])("have one end when %s", async (_, script, failure) => {
    const process = await startSession();
    process.tell(output("x"), ...script);
    await vi.advanceTimersByTimeAsync(0);
    expect(endEvents()).toEqual([
      { type: "end", callId: "call-1", durationMs: 250, output: "x", omittedBytes: 0, failure },
    ]);
    await after(0, tools.write_stdin({ session_id: 1 }));
    await after(0, tools.close());
    expect(types()).toEqual(["begin", "output_delta", "end"]);
  });

  it("keep the exit code when only the last output was lost", async () => {
    host.script = [exited(4), { kind: "failed", message: "gone" }];
    expect(await after(0, tools.exec_command({ cmd: "x" }))).toMatchObject({ exit_code: 4, failure: "gone" });
    expect(endEvents()).toMatchObject([{ exitCode: 4, failure: "gone" }]);
  });

  it("do not go on after the end", async () => {
    const process = await startSession();
    process.heedsSignal = false;
    process.tell(exited(0));
    await after(5000, tools.write_stdin({ session_id: 1 }));
    process.tell(output("of a background process"));
    await vi.advanceTimersByTimeAsync(0);
    expect(types()).toEqual(["begin", "end"]);
  });

  it("repeat a bounded part of the output at the end", async () => {
    host.script = [output("a".repeat(50_000)), output("z".repeat(50_000)), exited(0), closed];
    await after(0, tools.exec_command({ cmd: "x" }));
    const kept = 32 * 1024;
    expect(endEvents()).toMatchObject([
      {
        output: `${"a".repeat(kept)}\n… ${100_000 - 2 * kept} bytes omitted …\n${"z".repeat(kept)}`,
        omittedBytes: 100_000 - 2 * kept,
      },
    ]);
  });

  it("reach the other listeners when one fails, and none after it was taken off", async () => {
    const logged: string[] = [];
    const log = (message: string): void => void logged.push(message);
    useTools({ logger: { error: log, warn: log, info: log, debug: log } });
    const heard: string[] = [];
    tools.onEvent(() => {
      throw new Error("broken listener");
    });
    const off = tools.onEvent((event) => heard.push(event.type));
    await startSession();
    expect(heard).toEqual(["begin"]);
    expect(logged).toEqual(["a listener of tool events failed"]);
    off();
    await after(0, tools.close());
    expect(heard).toEqual(["begin"]);
    expect(types()).toEqual(["begin", "end"]);
  });
});

describe("call", () => {
  it("runs a tool by name, with arguments or their JSON text, and renders the result", async () => {
    host.script = [output("hello\n"), exited(0), closed];
    const expected = "Exit code: 0\nWall time: 0.00 s\nOutput:\nhello\n";
    expect(await after(0, tools.call("exec_command", { cmd: "x" }))).toMatchObject({
      text: expected,
      isError: false,
    });
    expect(await after(0, tools.call("exec_command", '{"cmd":"x"}'))).toMatchObject({ text: expected });
  });

  it("gives a model's mistakes back as text", async () => {
    expect(await tools.call("write_stdin", { session_id: 4 })).toEqual({
      text: "there is no session 4; no session is open",
      isError: true,
    });
    expect(await tools.call("exec_command", "{")).toMatchObject({ isError: true });
    expect(await tools.call("rm", {})).toEqual({
      text: 'there is no tool "rm"; there are exec_command and write_stdin',
      isError: true,
    });
  });

  it.each(["exec_command", "write_stdin"])("answers deep arguments of %s as a mistake", async (name) => {
    const text = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const deep: unknown = JSON.parse(text);
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    const members = [
      { cmd: deep },
      { argv: [deep] },
      { env: { A: deep } },
      { session_id: deep },
      { other: deep },
    ];
    const wrong = [deep, text, cyclic, 5n, ...members, { cmd: cyclic }, { cmd: 5n }, { cmd: () => {} }];
    for (const args of wrong) {
      const { isError, text } = await tools.call(name, args);
      expect(isError).toBe(true);
      expect(text.length).toBeLessThan(300);
    }
  });

  it("says that the server names no shell, where a command line needs one", async () => {
    host.environment = {};
    host.script = [exited(0), closed];
    expect(await tools.call("exec_command", { cmd: "x" })).toEqual({
      text: "exec_command: the server names no shell; give one as shell, or argv instead of cmd",
      isError: true,
    });
    expect(await after(0, tools.call("exec_command", { argv: ["x"] }))).toMatchObject({ isError: false });
    expect(await after(0, tools.call("exec_command", { cmd: "x", shell: "sh" }))).toMatchObject({
      isError: false,
    });
  });

  it("does not take a fault of the program for a mistake of the model", async () => {
    host.beforeStart = () => Promise.reject(new TypeError("bug"));
    await expect(tools.call("exec_command", { cmd: "x" })).rejects.toThrow(TypeError);
  });
});
