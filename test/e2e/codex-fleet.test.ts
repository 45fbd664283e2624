import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";
import { body } from "./codex-output.ts";
import { toml } from "./codex-run.ts";
import { call } from "./mock-model.ts";
import { serverKind, Workspace } from "./workspace.ts";

const PATIENT = { yield_time_ms: 30_000 };
const TOKEN = "open-sesame-0123456789";
const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

let nats: NatsServer;
let home: string;

beforeAll(async () => {
  nats = await startNats();
  home = await mkdtemp("/var/tmp/exec-server-fleet-");
  const directory = join(home, ".config", "exec-server");
  await mkdir(directory, { recursive: true });
  const hosts = `[fleets.prod]\nservers = "${nats.url}"\nauth_bearer_token = "${TOKEN}"\n`;
  await writeFile(join(directory, "hosts.toml"), hosts, { mode: 0o600 });
});

afterAll(async () => {
  await rm(home, { recursive: true, force: true });
  await nats[Symbol.asyncDispose]();
});

/** A server that is the executor `build`. */
const openExecutor = (): Promise<Workspace> =>
  Workspace.open([
    "--fleet",
    nats.url,
    "--id",
    "build",
    "--ws-auth",
    "capability-token",
    "--ws-token-sha256",
    createHash("sha256").update(TOKEN).digest("hex"),
  ]);

/** The client's environments file: the only environment is a bridge to the executor. */
const bridged = (): { toml: string } => ({
  toml: `default = "there"
include_local = false
[[environments]]
id = "there"
program = ${toml(process.execPath)}
args = ${toml([CLI, "bridge", "--stdio", "-H", "prod/build"])}
env = { HOME = ${toml(home)} }
`,
});

describe.runIf(serverKind === "ours")("codex exec through a bridge to an executor behind NATS", () => {
  it("runs commands and patches files there", async () => {
    await using workspace = await openExecutor();
    await workspace.write("AGENTS.md", "Mind the tides.\n");
    await workspace.write("edit.txt", "one\ntwo\n");
    const patch = "*** Begin Patch\n*** Update File: edit.txt\n@@\n one\n-two\n+TWO\n*** End Patch";
    const { outputs, model } = await workspace.run(
      [
        call("exec_command", { cmd: 'echo "$E2E_MARKER"; exit 9', ...PATIENT }),
        call("exec_command", { cmd: `apply_patch <<'PATCH'\n${patch}\nPATCH` }),
      ],
      { environment: bridged() },
    );
    expect(model.context.join("\n")).toContain("Mind the tides.");
    expect(outputs[0]).toContain("Process exited with code 9\n");
    expect(body(outputs[0] ?? "")).toBe(`${workspace.serverMarker}\n`);
    expect(await workspace.read("edit.txt")).toBe("one\nTWO\n");
    // Nothing went around NATS.
    expect(workspace.proxy.upgrades).toEqual([]);
  });

  it("loses nothing of a command while NATS is killed and started again", async () => {
    await using workspace = await openExecutor();
    const cmd = 'for i in $(seq 1 300); do echo "line $i"; sleep 0.01; done; exit 7';
    const done = new AbortController();
    const restarting = (async () => {
      for (let restarts = 0; ; restarts += 1) {
        await delay(1_000, undefined, { signal: done.signal }).catch(() => {});
        if (done.signal.aborted) return restarts;
        await nats.kill();
        await nats.start();
      }
    })();
    const { outputs } = await workspace
      .run([call("exec_command", { cmd, ...PATIENT })], { environment: bridged() })
      .finally(() => done.abort());
    expect(await restarting).toBeGreaterThan(0);
    expect(outputs[0]).toContain("Process exited with code 7\n");
    expect(body(outputs[0] ?? "")).toBe(Array.from({ length: 300 }, (_, at) => `line ${at + 1}\n`).join(""));
  });
});
