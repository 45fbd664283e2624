// A client in a process of its own, which nothing but the server can hold up. It asks one cheap question after another, and tells
// its parent on demand how long the slowest answer took: `node bystander-process.mjs URL PID`.
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";

const [url, serverPid] = [process.argv[2] ?? "", Number(process.argv[3])];
const PAUSE_MS = 3;

/**
 * Milliseconds in which the main thread of a process was ready to run while the machine ran others. A latency without them is
 * what it would have been on an idle machine.
 */
function waitedForCpuMs(pid) {
  const [, waitedNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ");
  return Number(waitedNs) / 1e6;
}

const socket = new WebSocket(url, { perMessageDeflate: false });
let answered = () => {};
socket.on("message", (/** @type {Buffer} */ data) => answered(JSON.parse(data.toString("utf8"))));
socket.on("close", () => process.exit(3));
socket.on("error", () => process.exit(3));
await new Promise((resolve) => socket.once("open", resolve));

let nextId = 1;
function ask(method, params) {
  const id = nextId++;
  const answer = new Promise((resolve, reject) => {
    answered = (message) => {
      if (message.id !== id) return;
      if (message.error === undefined) resolve(message.result);
      else reject(new Error(message.error.message));
    };
  });
  socket.send(JSON.stringify({ id, method, params }));
  return answer;
}

await ask("initialize", { clientName: "bystander" });
socket.send(JSON.stringify({ method: "initialized" }));

let requests = 0;
let worstMs = 0;
let worstRawMs = 0;
const reports = [];
process.on("message", () => reports.push(requests));
process.on("disconnect", () => process.exit(0));
process.send({ ready: true });

for (;;) {
  const waitedBefore = waitedForCpuMs(serverPid) + waitedForCpuMs(process.pid);
  const begun = performance.now();
  await ask("environment/status", null);
  const rawMs = performance.now() - begun;
  const waitedMs = waitedForCpuMs(serverPid) + waitedForCpuMs(process.pid) - waitedBefore;
  requests += 1;
  worstRawMs = Math.max(worstRawMs, rawMs);
  worstMs = Math.max(worstMs, rawMs - waitedMs);
  // A report counts a question that was asked after it was wanted, so that nothing before it is left out.
  while (reports.length > 0 && reports[0] + 2 <= requests) {
    reports.shift();
    process.send({ requests, worstMs, worstRawMs });
    worstMs = 0;
    worstRawMs = 0;
  }
  await delay(PAUSE_MS);
}
