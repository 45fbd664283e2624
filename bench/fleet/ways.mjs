// The two ways to a server that are compared: directly over a WebSocket, and over NATS. Each has its own processes for the
// server and the client, so that neither inherits what V8 compiled for the other.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { readBanner, startProgram } from "../servers.mjs";
import { withDeadline } from "../waiting.mjs";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";
const fileOf = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Resolves with `{measure(work, size), stop()}`. `nats` is the URL of a server of NATS. */
export async function openWay(way, nats) {
  const server = await startProgram(process.execPath, [fileOf("executor.mjs"), nats, way, TOKEN]);
  try {
    const url = await readBanner(server, (line) => line.startsWith("ws://"));
    const target = way === "direct" ? url : { fleet: { servers: nats }, id: way };
    const client = fork(fileOf("client.mjs"), [JSON.stringify({ target, token: TOKEN })]);
    const gone = once(client, "exit");
    const answer = async (what) => {
      const ended = gone.then(() => Promise.reject(new Error(`${what}: the client has ended`)));
      ended.catch(() => {});
      const said = new Promise((resolve) => client.once("message", resolve));
      return withDeadline(Promise.race([said, ended]), what);
    };
    const measure = async (work, size) => {
      client.send({ work, size });
      const { value, error } = await answer(`${work} ${way}`);
      if (error !== undefined) throw new Error(`${work} ${way}: ${error}`);
      return value;
    };
    const stop = async () => {
      client.kill("SIGKILL");
      await gone;
      await server.stop();
    };
    await answer(`the connection of ${way}`);
    return { way, serverPid: server.pid, clientPid: client.pid, measure, stop };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
