// Leaves V8's code cache of the program beside it, from a server that has served a client, so that what every server needs is in it.
import { spawn } from "node:child_process";
import { on, once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";

const DEADLINE_MS = 20_000;
const LOOK_EVERY_MS = 50;

/** A build goes without a cache where none can be made: it is a gain of time, nothing else. */
export async function makeCodeCache(program) {
  const cache = `${program}.cache`;
  rmSync(cache, { force: true });
  const home = mkdtempSync(join(tmpdir(), "exec-server-build-"));
  const server = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
    signal: AbortSignal.timeout(DEADLINE_MS),
    killSignal: "SIGKILL",
  });
  const exited = once(server, "close");
  try {
    await serveOneClient(await readUrl(server));
    copyFileSync(await keptFile(join(home, ".cache", "exec-server")), cache);
    chmodSync(cache, 0o644);
  } catch (error) {
    console.error(`no code cache: ${error.message}`);
  } finally {
    server.kill();
    await exited.catch(() => {});
    rmSync(home, { recursive: true, force: true });
  }
}

async function readUrl(server) {
  const lines = createInterface({ input: server.stdout });
  const ended = once(server, "close").then(() => Promise.reject(new Error("the server ended")));
  const [url] = await Promise.race([once(lines, "line"), ended]);
  return url;
}

/** A session with one process, as most clients have it. */
async function serveOneClient(url) {
  const socket = new WebSocket(url);
  await once(socket, "open");
  const send = (message) => socket.send(JSON.stringify(message));
  send({ id: 1, method: "initialize", params: { clientName: "build" } });
  await once(socket, "message");
  send({ method: "initialized" });
  const params = { processId: "1", argv: ["echo", "text"], cwd: "file:///", env: process.env, tty: false };
  send({ id: 2, method: "process/start", params });
  for await (const [message] of on(socket, "message"))
    if (JSON.parse(message).method === "process/closed") break;
  socket.close();
  await once(socket, "close");
}

async function keptFile(directory) {
  for (let waited = 0; waited < DEADLINE_MS; waited += LOOK_EVERY_MS) {
    const name = existsSync(directory) && readdirSync(directory).find((file) => file.startsWith("code-"));
    if (name) return join(directory, name);
    await delay(LOOK_EVERY_MS);
  }
  throw new Error("the server kept none");
}
