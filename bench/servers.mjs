import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findCodexBinary } from "../scripts/install-codex.mjs";
import { inSession, Session } from "./session.mjs";
import { openStdioPipes } from "./stdio-channel.mjs";
import { withDeadline } from "./waiting.mjs";
import { Wire } from "./wire.mjs";

const BANNER_DEADLINE_MS = 15_000;
const STOP_DEADLINE_MS = 5_000;
export const OURS = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

/**
 * A target is `{name, transports, ownsProcess, open(transport)}`; `missing` says why it cannot take part. `open`
 * returns a server: `{pid, openSession(), releaseSession(session), stop()}`, without a pid if it was already running.
 */
export function oursTarget(nodeArguments = [], serverArguments = []) {
  if (!existsSync(OURS)) return { name: "ours", missing: "dist/cli.js does not exist; run `npm run build`" };
  return ownTarget("ours", process.execPath, [...nodeArguments, OURS], serverArguments);
}

/** The peer of the ratios: the real Codex server, or another build of this one if its program is given. */
export function peerTarget(program) {
  if (program !== undefined) {
    if (!existsSync(program)) return { name: "peer", missing: `${program} does not exist` };
    return ownTarget("peer", process.execPath, [program]);
  }
  const binary = findCodexBinary();
  if (!binary) return { name: "peer", missing: "no codex binary; run `node scripts/install-codex.mjs`" };
  return ownTarget("peer", binary, ["exec-server"]);
}

function ownTarget(name, command, args, more = []) {
  const open = {
    ws: () => openWsServer(command, [...args, "--listen", "ws://127.0.0.1:0", ...more]),
    stdio: () => openStdioServer(command, [...args, "--listen", "stdio", ...more]),
  };
  return { name, transports: ["ws", "stdio"], ownsProcess: true, open: (transport) => open[transport]() };
}

/** The same server with a keeper, which ends with it. */
export function durableTarget() {
  const name = "durable";
  if (!existsSync(OURS)) return { name, missing: "dist/cli.js does not exist; run `npm run build`" };
  const end = (home) => spawnSync(process.execPath, [OURS, "durable", "end", join(home, "durable")]);
  const args = [OURS, "--listen", "ws://127.0.0.1:0", "--durable", "durable"];
  return {
    name,
    transports: ["ws"],
    ownsProcess: true,
    open: () => openWsServer(process.execPath, args, end),
  };
}

export function runningTarget(url) {
  return {
    name: url,
    transports: ["ws"],
    ownsProcess: false,
    open: async () => ({ ...wsSessions(url), stop: async () => {} }),
  };
}

/** Throws with a reason if nothing answers. */
export async function checkReachable(target) {
  try {
    await inSession(await target.open("ws"), async () => {});
  } catch (error) {
    throw new Error(`${target.name} cannot be measured: ${error.message}`, { cause: error });
  }
}

const wsSessions = (url) => ({
  url,
  openSession: async () => Session.open(await withDeadline(Wire.connect(url), "connect")),
  releaseSession: (session) => session.close(),
});

/** Starts a program in its own directory; `stop` ends it, calls `ended` with the directory and removes that. */
export async function startProgram(
  command,
  args,
  prepare = async () => ["ignore", "pipe", "pipe"],
  ended = () => {},
) {
  // Not under the temporary directory: the peer warns about that and behaves differently.
  const home = await mkdtemp("/var/tmp/exec-server-bench-");
  const stdio = await prepare(home);
  const spawnedAt = performance.now();
  const child = spawn(command, args, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, CODEX_HOME: home },
    stdio,
  });
  const exited = new Promise((resolve) => {
    child.once("close", resolve);
    child.once("error", resolve);
  });
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
    ended(home);
    await rm(home, { recursive: true, force: true });
  };
  return { child, pid: child.pid, spawnedAt, exited, stop, complaints: () => complaints };
}

async function openWsServer(command, args, ended) {
  const program = await startProgram(command, args, undefined, ended);
  try {
    const url = await readBanner(program, (line) => line.startsWith("ws://"));
    return { ...wsSessions(url), pid: program.pid, spawnedAt: program.spawnedAt, stop: program.stop };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

/** The first line of a program's stdout that satisfies `isBanner`. */
export function readBanner({ child, complaints }, isBanner) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail("no banner"), BANNER_DEADLINE_MS);
    const fail = (why) => {
      clearTimeout(timer);
      reject(new Error(`server did not start: ${why}\n${complaints()}`));
    };
    child.once("error", (error) => fail(error.message));
    child.once("close", (code, signal) => fail(`exit ${code ?? signal}`));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!isBanner(line)) return;
      clearTimeout(timer);
      resolve(line.trim());
    });
  });
}

async function openStdioServer(command, args) {
  let pipes;
  const program = await startProgram(command, args, async (home) => {
    pipes = await openStdioPipes(home);
    return [pipes.stdin, pipes.stdout, "pipe"];
  });
  pipes.started();
  const wire = Wire.overStdio(pipes.ours);
  const stop = async () => {
    wire.close();
    await program.stop();
  };
  try {
    const session = await Session.open(wire);
    return {
      pid: program.pid,
      spawnedAt: program.spawnedAt,
      openSession: async () => session,
      releaseSession: () => {
        wire.onBulk = () => {};
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`${error.message}\n${program.complaints()}`, { cause: error });
  }
}
