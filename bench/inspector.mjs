import { createServer } from "node:net";
import { WebSocket } from "ws";
import { withDeadline } from "./waiting.mjs";

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Returns a function that sends a command to the inspector of a Node process. */
async function inspect(port) {
  const [{ webSocketDebuggerUrl }] = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
  const socket = new WebSocket(webSocketDebuggerUrl, { perMessageDeflate: false });
  await withDeadline(new Promise((resolve) => socket.once("open", resolve)), "the inspector");
  const pending = new Map();
  socket.on("message", (text) => {
    const { id, result } = JSON.parse(text);
    pending.get(id)?.(result);
  });
  let nextId = 1;
  const send = (method, params = {}) =>
    new Promise((resolve) => {
      pending.set(nextId, resolve);
      socket.send(JSON.stringify({ id: nextId++, method, params }));
    });
  return { send, close: () => socket.close() };
}

/**
 * Node's arguments that make a program inspectable, and a function that profiles its thread while it does some work.
 * Call it when the program runs.
 */
export async function prepareProfile(samplingMicroseconds) {
  const port = await freePort();
  const profile = async (work) => {
    const inspector = await inspect(port);
    await inspector.send("Profiler.enable");
    await inspector.send("Profiler.setSamplingInterval", { interval: samplingMicroseconds });
    await inspector.send("Profiler.start");
    await work();
    const { profile } = await inspector.send("Profiler.stop");
    inspector.close();
    return profile;
  };
  return { nodeArguments: [`--inspect=127.0.0.1:${port}`], profile };
}
