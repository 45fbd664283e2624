import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findCodexBinary } from "../scripts/install-codex.mjs";

const BANNER_DEADLINE_MS = 15_000;
const STOP_DEADLINE_MS = 5_000;
const OURS = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const LISTEN = ["--listen", "ws://127.0.0.1:0"];

/** A target is `{name, open()}`; `open` gives `{url, stop()}`. `missing` says why a target cannot take part. */
export function oursTarget() {
  if (!existsSync(OURS)) return { name: "ours", missing: "dist/cli.js does not exist; run `npm run build`" };
  return { name: "ours", open: () => openServer(process.execPath, [OURS, ...LISTEN]) };
}

export function peerTarget() {
  const binary = findCodexBinary();
  if (!binary) return { name: "peer", missing: "no codex binary; run `node scripts/install-codex.mjs`" };
  return { name: "peer", open: () => openServer(binary, ["exec-server", ...LISTEN]) };
}

export function runningTarget(url) {
  return { name: url, open: async () => ({ url, stop: async () => {} }) };
}

async function openServer(command, args) {
  // Not under the temporary directory: the peer warns about that and behaves differently.
  const home = await mkdtemp("/var/tmp/exec-server-bench-");
  const child = spawn(command, args, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise((resolve) => child.once("close", resolve));
  const killWithUs = () => child.kill("SIGKILL");
  process.once("exit", killWithUs);
  let complaints = "";
  child.stderr.on("data", (bytes) => {
    complaints = (complaints + bytes).slice(-2000);
  });
  const stop = async () => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_DEADLINE_MS);
    await exited;
    clearTimeout(timer);
    process.removeListener("exit", killWithUs);
    await rm(home, { recursive: true, force: true });
  };
  try {
    return { url: await readBanner(child, () => complaints), pid: child.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readBanner(child, complaints) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no banner")), BANNER_DEADLINE_MS);
    const fail = (why) => {
      clearTimeout(timer);
      reject(new Error(`server did not start: ${why}\n${complaints()}`));
    };
    child.once("error", (error) => fail(error.message));
    child.once("close", (code, signal) => fail(`exit ${code ?? signal}`));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!line.startsWith("ws://")) return;
      clearTimeout(timer);
      resolve(line.trim());
    });
  });
}
