// Forks the client of one way to a server.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { withDeadline } from "./waiting.mjs";

const PROGRAM = fileURLToPath(new URL("measured-client.mjs", import.meta.url));

/** Resolves with `{pid, measure(work, size), stop()}` of a client in a process of its own, once it is connected. */
export async function forkClient(way, { target, token, request }) {
  const client = fork(PROGRAM, [JSON.stringify({ target, token, request })]);
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
  };
  await answer(`the connection of ${way}`);
  return { pid: client.pid, measure, stop };
}
