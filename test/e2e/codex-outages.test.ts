import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { call } from "./mock-model.ts";
import { body, expectResumed, lines, sessionIn } from "./codex-output.ts";
import { serverKind, Workspace } from "./workspace.ts";

const LINE_SECONDS = 0.5;
/** The command goes on for this long after the outage. */
const AFTERWARDS_SECONDS = 4;

describe(`codex exec on ${serverKind === "codex" ? "its own" : "this"} server, which cannot be reached for a while`, () => {
  // They wait together.
  it.concurrent.each([5, 27, 35, 42])("loses nothing in %i s", async (seconds) => {
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    const count = (seconds + AFTERWARDS_SECONDS) / LINE_SECONDS;
    const cmd = `for i in $(seq 1 ${count}); do echo "line $i"; sleep ${LINE_SECONDS}; done; exit 7`;
    proxy.cutWithin(() => proxy.output.includes("line 3\n"));

    const outage = async () => {
      await proxy.until(() => proxy.isCut, "the cut");
      await pause(seconds * 1000);
      proxy.readmit();
    };
    const over = outage();
    const [{ outputs }] = await Promise.all([
      workspace.run([
        call("exec_command", { cmd, yield_time_ms: 250 }),
        async ([first]) => {
          await over;
          return call("write_stdin", {
            session_id: sessionIn(first?.text),
            chars: "",
            yield_time_ms: 30_000,
          });
        },
      ]),
      over,
    ]);

    expect(outputs.at(-1)).toContain("Process exited with code 7\n");
    expect(outputs.map(body).join("")).toBe(lines(1, count));
    expectResumed(proxy);
  });
});
