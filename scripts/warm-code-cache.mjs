import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const DEADLINE_MS = 20_000;
const REQUESTS = [
  { id: 1, method: "initialize", params: { clientName: "build" } },
  { method: "initialized" },
  {
    id: 2,
    method: "process/start",
    params: { processId: "1", argv: ["echo", "text"], cwd: "file:///", env: {}, tty: false },
  },
];

/**
 * Serves one client with one process, and runs one command, so that the first real ones find a cache of what they need.
 * A failure does not fail the build.
 */
export async function warmCodeCache(program) {
  try {
    await warmServer(program);
    await warmClient(program);
  } catch (error) {
    console.error(`no code cache: ${error.message}`);
  }
}

async function warmServer(program) {
  const server = start([program, "--listen", "stdio"], ["pipe", "pipe", "inherit"]);
  const closed = closeOf(server);
  for (const request of REQUESTS) server.stdin.write(`${JSON.stringify(request)}\n`);
  for await (const line of createInterface({ input: server.stdout }))
    if (JSON.parse(line).method === "process/closed") break;
  server.stdin.end();
  await closed;
}

async function warmClient(program) {
  // Its stderr would show a useless link.
  const server = start([program, "--listen", "ws://127.0.0.1:0"], ["ignore", "pipe", "ignore"]);
  const closed = closeOf(server);
  const [url] = await Promise.race([once(createInterface({ input: server.stdout }), "line"), closed]);
  await once(start([program, "run", "--url", url, "--", "echo"], ["ignore", "ignore", "inherit"]), "close");
  server.kill("SIGTERM");
  await closed;
}

/** Its failure is not lost: code that waits for something else first sees it later. */
function closeOf(child) {
  const closed = once(child, "close");
  closed.catch(() => {});
  return closed;
}

function start(args, stdio) {
  return spawn(process.execPath, args, {
    stdio,
    signal: AbortSignal.timeout(DEADLINE_MS),
    killSignal: "SIGKILL",
  });
}
