import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { launch } from "../conformance/server-process.ts";
import { withDeadline } from "../fault/deadline.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { call } from "./mock-model.ts";
import { body, expectResumed, lines, sessionIn } from "./codex-output.ts";
import { serverKind, Workspace } from "./workspace.ts";

// All of them wait together.

const LINE_SECONDS = 0.5;
/** How long the command continues after the outage. */
const AFTERWARDS_SECONDS = 4;
/** Recovery after the outage, on a machine that does something else. */
const RECOVERY_DEADLINE_MS = 60_000;

function countingScript(seconds: number): { script: string; count: number } {
  const count = (seconds + AFTERWARDS_SECONDS) / LINE_SECONDS;
  const script = `for i in $(seq 1 ${count}); do echo "line $i"; sleep ${LINE_SECONDS}; done; exit 7`;
  return { script, count };
}

describe.concurrent(`codex exec on ${serverKind === "codex" ? "its own" : "this"} server, which cannot be reached for a while`, () => {
  it.each([5, 27, 35, 42])("loses nothing in %i s", async (seconds) => {
    await using workspace = await Workspace.open();
    const { proxy } = workspace;
    const { script: cmd, count } = countingScript(seconds);
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

describe.concurrent("this client on Codex's server, which cannot be reached for a while", () => {
  it("loses nothing in 40 s: of what runs on, of what ends meanwhile, of what is typed meanwhile", async () => {
    const seconds = 40;
    const server = await launch("codex", ["--listen", "ws://127.0.0.1:0"]);
    try {
      await using proxy = await CuttingProxy.open(await server.banner());
      await using host = await connect(proxy.url);
      const { sessionId } = host;
      const reading = await host.start(["cat"], { stdin: "pipe" });
      const heard = reading.output();
      const ending = host.run(["sh", "-c", `sleep ${seconds / 2}; echo meanwhile; exit 3`]);
      const { script, count } = countingScript(seconds);
      proxy.cutWithin(() => proxy.output.includes("line 3\n"));
      const counting = host.run(["sh", "-c", script]);

      await proxy.until(() => proxy.isCut, "the cut");
      await proxy.until(() => proxy.refused > 0, "a refused connection");
      const all = Promise.all([counting, ending, heard.next(), reading.write("typed meanwhile\n")]);
      const outage = async () => {
        await pause(seconds * 1000);
        expect(host.state).toBe("recovering");
        proxy.readmit();
      };
      const deadlineMs = seconds * 1000 + RECOVERY_DEADLINE_MS;
      const [[counted, ended, { value: echoed }]] = await Promise.all([
        withDeadline(all, deadlineMs, () => `the rest; the host is ${host.state}`),
        outage(),
      ]);
      expect(counted).toMatchObject({ stdout: lines(1, count), exitCode: 7 });
      expect(ended).toMatchObject({ stdout: "meanwhile\n", exitCode: 3 });
      expect(Buffer.from(echoed!.bytes).toString()).toBe("typed meanwhile\n");
      expect(host.sessionId).toBe(sessionId);
      expect(proxy.requests("process/start")).toHaveLength(3);
    } finally {
      await server.stop();
    }
  });
});
