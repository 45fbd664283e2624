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
 * Serves one client with one process, so that the first real server finds a cache of what every server needs. A failure
 * does not fail the build.
 */
export async function warmCodeCache(program) {
  const server = spawn(process.execPath, [program, "--listen", "stdio"], {
    stdio: ["pipe", "pipe", "inherit"],
    signal: AbortSignal.timeout(DEADLINE_MS),
    killSignal: "SIGKILL",
  });
  const closed = once(server, "close");
  try {
    for (const request of REQUESTS) server.stdin.write(`${JSON.stringify(request)}\n`);
    for await (const line of createInterface({ input: server.stdout }))
      if (JSON.parse(line).method === "process/closed") break;
    server.stdin.end();
    await closed;
  } catch (error) {
    console.error(`no code cache: ${error.message}`);
  }
}
