import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { closed, exited, FakeHost, output } from "../../../test/fixtures/fake-tool-host.ts";
import { ExecError } from "../../base/errors.ts";
import type { Place } from "../machine/workspace.ts";
import { Processes } from "./processes.ts";

const { signal } = new AbortController();
const noted = (): void => {};
let host: FakeHost;
let processes: Processes;
let place: Place;

beforeEach(() => {
  vi.useFakeTimers();
  host = new FakeHost();
  processes = new Processes({ env: { LANG: "C" }, maxRunning: 32 });
  place = { host, cwd: "/srv/app", sandbox: { marked: 1 } } as unknown as Place;
});
afterEach(() => {
  vi.useRealTimers();
});

/** Runs `exec_command`, which ends, or yields. */
async function exec(args: object = {}, at: Place = place) {
  const running = processes.exec({ argv: ["run"], yield_time_ms: 250, ...args }, at, signal, noted);
  // It may fail meanwhile.
  running.catch(() => {});
  await vi.advanceTimersByTimeAsync(250);
  return await running;
}

describe("a command", () => {
  it("starts in its place, whatever other calls do", async () => {
    const elsewhere = { ...place, cwd: "/other", sandbox: { marked: 2 } } as unknown as Place;
    await Promise.all([exec({ workdir: "sub" }), exec({ tty: true }, elsewhere)]);
    expect(host.started).toEqual([
      expect.objectContaining({
        terminal: false,
        options: expect.objectContaining({ cwd: "/srv/app/sub", sandbox: { marked: 1 } }),
      }),
      expect.objectContaining({
        terminal: true,
        options: expect.objectContaining({ cwd: "/other", sandbox: { marked: 2 } }),
      }),
    ]);
  });

  it("without a sandbox is contained, where the machine can do that", async () => {
    const open = { ...place, sandbox: undefined } as unknown as Place;
    await exec({}, open);
    host.beforeStart = () => {
      host.beforeStart = () => Promise.resolve();
      return Promise.reject(new ExecError("UNSUPPORTED", "no control groups"));
    };
    await exec({}, open);
    await exec({}, open);
    expect(host.started.map(({ options }) => (options as { contain?: boolean }).contain)).toEqual([
      true,
      true,
      undefined,
      undefined,
    ]);
  });

  it("is not started uncontained after any other failure", async () => {
    host.beforeStart = () => Promise.reject(new ExecError("LIMIT_REACHED", "too many"));
    await expect(exec({}, { ...place, sandbox: undefined })).rejects.toThrow("too many");
    expect(host.started).toHaveLength(1);
  });

  it("that is never given a sandbox that it should have does not exist", async () => {
    host.beforeStart = () => Promise.reject(new ExecError("UNSUPPORTED", "the sandbox is unavailable"));
    await expect(exec()).rejects.toThrow("the sandbox is unavailable");
    expect(host.started).toHaveLength(1);
  });
});

describe("output", () => {
  it("is counted by what calls have returned", async () => {
    host.script = [output("one\n")];
    const first = await exec();
    expect(first).toMatchObject({ outputOffset: 0, result: { output: "one\n", session_id: 1 } });
    host.last.tell(output("t€", "stdout"));
    await vi.advanceTimersByTimeAsync(0);
    expect(processes.unread(first.record)).toBe(4);
    const reading = processes.write({ session_id: 1, yield_time_ms: 250 }, signal);
    await vi.advanceTimersByTimeAsync(250);
    expect(await reading).toMatchObject({ outputOffset: 4, result: { output: "t€" } });
    expect(processes.unread(first.record)).toBe(0);
    expect(first.record.log.end).toBe(8);
  });

  it("is kept after the end, of the last 32 that ended", async () => {
    host.script = [output("x"), exited(0), closed];
    for (let count = 0; count < 40; count += 1) await exec();
    expect(processes.all.map(({ sessionId }) => sessionId)).toEqual(
      Array.from({ length: 32 }, (_, index) => index + 9),
    );
    expect(() => processes.find(8)).toThrow("there is no session 8, or its output has been dropped");
    expect(processes.find(9)).toMatchObject({ isRunning: false, exitCode: 0 });
  });
});

describe("a process", () => {
  it("is killed, and its end reported", async () => {
    const { record } = await exec();
    const killing = processes.kill(record, signal);
    await vi.advanceTimersByTimeAsync(0);
    expect(await killing).toMatchObject({ result: { exit_code: 137 } });
    expect(host.last.kills).toBe(1);
    expect(record.isRunning).toBe(false);
  });

  it("that is lost with its machine has ended, and its number stays its own", async () => {
    const { record } = await exec();
    host.last.tell({ kind: "failed", message: "the session is lost" });
    await vi.advanceTimersByTimeAsync(0);
    expect(record.isRunning).toBe(false);
    expect((await exec()).record.sessionId).toBe(2);
  });

  it("ends with its client", async () => {
    await exec();
    await exec();
    await processes[Symbol.asyncDispose]();
    expect(host.processes.map(({ kills }) => kills)).toEqual([1, 1]);
    await expect(exec()).rejects.toThrow("the tools are closed");
  });
});
