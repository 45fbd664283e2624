// The two ways to a server that are compared: directly over a WebSocket, and over NATS. Each has its own processes for the
// server and the client, so that neither inherits what V8 compiled for the other.
import { fileURLToPath } from "node:url";
import { forkClient } from "../fork-client.mjs";
import { readBanner, startProgram } from "../servers.mjs";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";
const EXECUTOR = fileURLToPath(new URL("executor.mjs", import.meta.url));

/** Resolves with `{measure(work, size), stop()}`. `nats` is the URL of a server of NATS. */
export async function openWay(way, nats) {
  const server = await startProgram(process.execPath, [EXECUTOR, nats, way, TOKEN]);
  try {
    const url = await readBanner(server, (line) => line.startsWith("ws://"));
    const target = way === "direct" ? url : { fleet: { servers: nats }, id: way };
    const client = await forkClient(way, { target, token: TOKEN });
    const stop = async () => {
      await client.stop();
      await server.stop();
    };
    return { way, serverPid: server.pid, clientPid: client.pid, measure: client.measure, stop };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
