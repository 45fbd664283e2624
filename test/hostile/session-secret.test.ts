import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { SessionClient, startParams } from "../fault/session-client.ts";

const DEADLINE_MS = 60_000;

describe("the id of a session, which is a secret", () => {
  it.each(["debug", "info", "warn"])(
    "is not in the log of level %s, whatever happens to the session",
    async (level) => {
      const server = spawn(
        process.execPath,
        [builtCli, "--listen", "ws://127.0.0.1:0", "--log-level", level],
        { stdio: ["ignore", "pipe", "pipe"] },
      );
      let log = "";
      server.stderr.setEncoding("utf8").on("data", (text: string) => {
        log += text;
      });
      try {
        const [url] = (await withDeadline(
          once(createInterface({ input: server.stdout }), "line"),
          DEADLINE_MS,
          () => "the banner",
        )) as [string];
        const first = await SessionClient.connect(url);
        const id = await first.initialize();
        await first.request("process/start", startParams("p", ["sleep", "1000"]));
        // Refused while it is attached, or handed over; resumed once it is not; then gone with a bad message.
        const second = await SessionClient.connect(url);
        await second.initialize(id).catch(() => {});
        first.cut();
        second.cut();
        const third = await SessionClient.connect(url);
        await pollUntil(
          () =>
            third.initialize(id).then(
              () => true,
              () => false,
            ),
          DEADLINE_MS,
          () => "the session",
        );
        third.notify("no/such/notification");
        await third.closed;
        const fourth = await SessionClient.connect(url);
        await fourth.initialize(`not-${id}`).catch(() => {});
        fourth.cut();
        server.kill("SIGTERM");
        await withDeadline(once(server, "exit"), DEADLINE_MS, () => "the end of the server");
        expect(log).not.toContain(id);
      } finally {
        server.kill("SIGKILL");
      }
    },
  );
});
