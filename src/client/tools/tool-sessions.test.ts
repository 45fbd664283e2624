import { describe, expect, it, vi } from "vitest";
import { ExecError } from "../../base/errors.ts";
import { closed, exited, output } from "../../../test/fixtures/fake-tool-host.ts";
import {
  after,
  endEvents,
  events,
  host,
  setUpTools,
  startSession,
  tools,
  types,
  useTools,
} from "../../../test/fixtures/tools-scene.ts";
import { createExecTools } from "./exec-tools.ts";

setUpTools();

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
      "the limit of 2 concurrent commands is reached",
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
      "the limit of 1 concurrent commands is reached",
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
      "maxSessions must be a whole number of at least 1",
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
