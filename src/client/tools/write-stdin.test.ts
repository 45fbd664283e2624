import { describe, expect, it, vi } from "vitest";
import { RpcError } from "../../base/errors.ts";
import { closed, exited, output } from "../../../test/fixtures/fake-tool-host.ts";
import { after, setUpTools, startSession, tools, types } from "../../../test/fixtures/tools-scene.ts";

setUpTools();

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
      "session 1 has ended, as an earlier call reported; no session is open",
    );
  });

  it("reports an end that came between two calls, with the output", async () => {
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
