import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connect } from "../../src/client/index.ts";
import { openWebSocketPeer } from "../conformance/raw-peer.ts";
import { launch } from "../conformance/server-process.ts";
import { pollUntil } from "./deadline.ts";
import { start } from "./limited-server.ts";

const DEADLINE_MS = 60_000;
const TOKEN = "token-6b1f0c5e9d";
const WRONG_TOKEN = "wrong-8f2d7a";
const VALUE = "value-03c9aa71";

it("a server's log at its fullest reveals no token, session id or value of a variable", async () => {
  const server = await launch("ours", [
    "--log-level",
    "debug",
    "--ws-auth",
    "capability-token",
    "--ws-token-file",
    await tokenFile(),
  ]);
  try {
    const url = await server.banner();
    const headers = { authorization: `Bearer ${TOKEN}` };
    await expect(openWebSocketPeer(url, { authorization: `Bearer ${WRONG_TOKEN}` })).rejects.toThrow();
    const first = await openWebSocketPeer(url, headers);
    const { sessionId } = await first.handshake();
    const env = { PATH: process.env["PATH"], SECRET: VALUE };
    await first.request("process/start", start("p", "exit 3", { env }));
    await first.call("process/start", start("q", "exit 3", { env, cwd: "file:///nowhere" }));
    const second = await openWebSocketPeer(url, headers);
    expect(
      (await second.call("initialize", { clientName: "x", resumeSessionId: sessionId })).error,
    ).toBeDefined();
    second.notify("no/such/notification", { sessionId, VALUE });
    await second.closed;
    first.drop();
    const third = await openWebSocketPeer(url, headers);
    await pollUntil(
      async () => {
        const { error } = await third.call("initialize", { clientName: "x", resumeSessionId: sessionId });
        return error === undefined;
      },
      DEADLINE_MS,
      () => "the session",
    );
    third.drop();
    // All three have left a line.
    await pollUntil(
      () => server.stderr.split("connection ended").length === 4,
      DEADLINE_MS,
      () => `the log: ${server.stderr}`,
    );
    for (const secret of [TOKEN, WRONG_TOKEN, VALUE, sessionId])
      expect(server.stderr + server.stdout).not.toContain(secret);
  } finally {
    await server.stop();
  }
});

it("what a client says about a server that it cannot reach shows no secret of its URL", async () => {
  const error = (await connect("ws://user:hidden-1@127.0.0.1:1/?token=hidden-2").catch(
    (caught: unknown) => caught,
  )) as Error;
  expect(error.message).toContain("ws://127.0.0.1:1");
  expect(String(error.stack) + JSON.stringify(error)).not.toContain("hidden");
});

async function tokenFile(): Promise<string> {
  const path = join("/var/tmp", `exec-server-token-${process.pid}`);
  await writeFile(path, TOKEN);
  return path;
}
