// A client in its own process, which only the server can hold up. It sends one cheap request after another, and reports
// the slowest answer to its parent on demand: `node bystander-process.mjs URL PID`.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";

const [url, serverPid] = [process.argv[2] ?? "", Number(process.argv[3])];
const PAUSE_MS = 3;
/** A slower answer is reported with its time, so that a pause of the machine can be subtracted from it. */
const SLOW_MS = 50;
/** Of all processes alike. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

/** For each thread of a process: milliseconds in which it was ready to run while the machine ran others. */
function waitedForCpuMs(pid) {
  const waits = new Map();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const [, waitedNs] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ");
      waits.set(thread, Number(waitedNs) / 1e6);
    } catch {
      // The thread has ended meanwhile.
    }
  }
  return waits;
}

/**
 * How long the machine has held up a process since `before`: its main thread, and the one of its helpers that waited longest, for which
 * the main thread may have had to wait in turn, as in a garbage collection. A latency without that is what it would have been
 * on an idle machine.
 */
function heldUpMs(pid, before) {
  let [main, helper] = [0, 0];
  for (const [thread, waitedMs] of waitedForCpuMs(pid)) {
    const moreMs = waitedMs - (before.get(thread) ?? 0);
    if (thread === String(pid)) main = moreMs;
    else helper = Math.max(helper, moreMs);
  }
  return main + helper;
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
let isAsking = false;
/** The slow answers, and the slowest one that was not. */
let slow = [];
let usual = 0;
const reports = [];
const wanted = new Set();
process.on("message", (message) => {
  if (message === "report") reports.push(requests);
  else if (isAsking) process.send({ asked: true });
  else wanted.add(message);
});
process.on("disconnect", () => process.exit(0));
process.send({ ready: true });

for (;;) {
  const before = [serverPid, process.pid].map((pid) => ({ pid, waits: waitedForCpuMs(pid) }));
  const from = now();
  const answer = ask("environment/status", null);
  isAsking = true;
  if (wanted.delete("asked")) process.send({ asked: true });
  await answer;
  isAsking = false;
  const to = now();
  const waitedMs = before.reduce((sum, { pid, waits }) => sum + heldUpMs(pid, waits), 0);
  requests += 1;
  const ms = to - from - waitedMs;
  if (ms > SLOW_MS) slow.push({ from, to, ms });
  else usual = Math.max(usual, ms);
  // A report counts a question that was asked after it was wanted, so that nothing before it is left out.
  while (reports.length > 0 && reports[0] + 2 <= requests) {
    reports.shift();
    process.send({ requests, usual, slow });
    [slow, usual] = [[], 0];
  }
  await delay(PAUSE_MS);
}
