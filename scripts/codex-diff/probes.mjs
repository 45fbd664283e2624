// The same questions to two releases of the real server: every method without and with wrong parameters.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { WebSocket } from "ws";
import { loadProtocol } from "../load-protocol.mjs";

const DEADLINE_MS = 20_000;
/** What no release is known to have, in case one begins to. */
const GUESSED =
  "process/list process/resize process/attach process/wait process/kill process/detach fs/rename fs/hash " +
  "fs/symlink fs/chmod fs/stat http/cancel tcp/connect capabilities/discoverV3 session/close session/detach environment/exec";
/** They name something that differs from one run to the next. */
const CHANGING = new Set(["sessionId", "providerId", "executorVersion", "prependPathDirs"]);

/** Answers by question, as text. */
export async function answersOf(binary) {
  const { methods } = (await loadProtocol()).index;
  const home = mkdtempSync("/var/tmp/codex-diff-");
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: join(home, ".codex") };
  const server = spawn(binary, ["exec-server", "--listen", "ws://127.0.0.1:0"], {
    cwd: home,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const [url] = String(
      (await once(server.stdout, "data", { signal: AbortSignal.timeout(DEADLINE_MS) }))[0],
    ).split("\n");
    const ask = await connect(url, home);
    const answers = new Map([["initialize", await ask("initialize", { clientName: "codex-diff" })]]);
    for (const method of [...Object.keys(methods), ...GUESSED.split(" ")])
      for (const params of [{}, [], { processId: 1, path: 1 }])
        if (method !== "initialize")
          answers.set(`${method} ${JSON.stringify(params)}`, await ask(method, params));
    return answers;
  } finally {
    server.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  }
}

async function connect(url, home) {
  const socket = new WebSocket(url);
  await once(socket, "open", { signal: AbortSignal.timeout(DEADLINE_MS) });
  let id = 0;
  const send = (method, params) => {
    id += 1;
    const wanted = id;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered`)), DEADLINE_MS);
      socket.on("message", function hear(data) {
        const { id: answered, result, error } = JSON.parse(/** @type {Buffer} */ (data).toString("utf8"));
        if (answered !== wanted) return;
        clearTimeout(timer);
        socket.off("message", hear);
        const text = JSON.stringify(error ?? result, (key, value) => (CHANGING.has(key) ? "…" : value));
        resolve(text.replaceAll(home, "HOME"));
      });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: wanted, method, params }));
    });
  };
  return async (method, params) => {
    const answer = await send(method, params);
    if (method === "initialize") socket.send(JSON.stringify({ jsonrpc: "2.0", method: "initialized" }));
    return answer;
  };
}
