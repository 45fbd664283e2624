// A server of NATS for measurements, on a free loopback port.
import { createInterface } from "node:readline";
import { startProgram } from "../servers.mjs";
import { withDeadline } from "../waiting.mjs";

/** Debian installs it where only the system's own path leads. */
const PROGRAM = "/usr/sbin/nats-server";
const START_MS = 20_000;
const PORT = /Listening for client connections on 127\.0\.0\.1:(\d+)/;

/** Resolves with its `url`, `pid` and `stop`. */
export async function startNats() {
  const program = await startProgram(PROGRAM, ["--addr", "127.0.0.1", "--port", "-1"]);
  const { child, pid, stop, complaints } = program;
  let port;
  try {
    const ready = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => reject(new Error(`nats-server ended: ${complaints()}`)));
      createInterface({ input: child.stderr }).on("line", (line) => {
        port ??= PORT.exec(line)?.[1];
        if (line.includes("Server is ready")) resolve();
      });
    });
    await withDeadline(ready, "the start of nats-server", START_MS);
    return { url: `nats://127.0.0.1:${port}`, pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
