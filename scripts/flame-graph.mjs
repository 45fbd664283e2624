// Draws where this server's thread spends its time in one bench case: node scripts/flame-graph.mjs rpc
// docs/flame-rpc.svg
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { WebSocket } from "ws";
import { CASES } from "../bench/cases/index.mjs";
import { callTree, drawFlameGraph } from "../bench/flame-graph.mjs";
import { oursTarget } from "../bench/servers.mjs";
import { withDeadline } from "../bench/waiting.mjs";

const USAGE = "node scripts/flame-graph.mjs CASE FILE.svg [ws|stdio]";
const SAMPLING_MICROSECONDS = 100;

const [caseName, file, transport = "ws"] = process.argv.slice(2);
const benchCase = CASES.find(({ name }) => name === caseName);
if (!benchCase || !file) {
  console.error(`${USAGE}\nwhere CASE is one of ${CASES.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

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

const port = await freePort();
const server = await oursTarget([`--inspect=127.0.0.1:${port}`]).open(transport);
const fixture = await benchCase.setUp?.({ quick: false });
const context = { server, quick: false, transport, fixture };
try {
  await benchCase.warmUp?.(context);
  const inspector = await inspect(port);
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.setSamplingInterval", { interval: SAMPLING_MICROSECONDS });
  await inspector.send("Profiler.start");
  await benchCase.run(context);
  const { profile } = await inspector.send("Profiler.stop");
  inspector.close();
  const svg = drawFlameGraph(callTree(profile), {
    title: `${benchCase.name} over ${transport}`,
    about: `${benchCase.about}. Green is this program with its libraries, blue is Node's JavaScript, red is native code and the kernel. Idle time is left out.`,
  });
  await writeFile(file, svg);
} finally {
  await server.stop();
  await fixture?.stop();
}
