import { describe, expect, it, vi } from "vitest";
import { ConnectionError } from "../../base/errors.ts";
import { closed, exited, output, utf8 } from "../../../test/fixtures/fake-tool-host.ts";
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
import type { ToolProcessEvent } from "./tool-host.ts";

setUpTools();

describe("events", () => {
  it("report the life of a process under the id of the call that started it", async () => {
    host.script = [output("> ", "pty")];
    await after(
      250,
      tools.exec_command({ argv: ["repl"], tty: true, yield_time_ms: 250 }, { callId: "c-7" }),
    );
    host.last.onWrite = async () => host.last.tell(output("4\n", "pty"), exited(0), closed);
    await after(0, tools.write_stdin({ session_id: 1, chars: "2+2\n" }, { callId: "c-8" }));
    expect(events).toEqual([
      { type: "begin", callId: "c-7", sessionId: 1, processId: "p-1", argv: ["repl"], cwd: "/srv/w d" },
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
    ["its exit was lost", [closed], "The process's exit was not reported"],
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

  it("do not continue after the end", async () => {
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
