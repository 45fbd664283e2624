// What audit and metrics cost a server: the same work on two running servers, alternately, in many short rounds.
import { readdirSync, readFileSync } from "node:fs";
import { oursTarget } from "./servers.mjs";
import { quantile } from "./statistics.mjs";
import { inLanes, withDeadline } from "./waiting.mjs";

/** A server as an operator runs it. Its working directory is one of its own. */
const OPERATED = ["--audit", "audit.jsonl", "--metrics"];

const REQUESTS_IN_FLIGHT = 64;
const STARTS_AT_A_TIME = 16;

/** `count` operations are a round of about a tenth of a second. */
export const WORKS = {
  requests: {
    count: 6_000,
    warmUp: 120_000,
    run: (session, count) =>
      inLanes(count, REQUESTS_IN_FLIGHT, () => session.wire.request("environment/status")),
  },
  starts: {
    count: 96,
    warmUp: 3_000,
    run: (session, count) => inLanes(count, STARTS_AT_A_TIME, () => session.run(["true"])),
  },
};

/** Processor time of all threads of a program, in nanoseconds. */
function processorTime(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]),
  );
  return times.reduce((sum, time) => sum + time, 0);
}

/** Two servers, one plain and one with audit and metrics, each with a session. */
export async function openServers(nodeArguments = { plain: [], operated: [] }) {
  const servers = {
    plain: await oursTarget(nodeArguments.plain).open("ws"),
    operated: await oursTarget(nodeArguments.operated, OPERATED).open("ws"),
  };
  const sessions = {
    plain: await servers.plain.openSession(),
    operated: await servers.operated.openSession(),
  };
  const stop = async () => {
    for (const server of Object.values(servers)) await server.stop();
  };
  return { servers, sessions, stop };
}

/**
 * Resolves with the ratios of each pair of rounds, operated to plain: of the processor time of the server, and of the
 * rate.
 */
export async function measureCost({ servers, sessions }, { count, warmUp, run }, rounds) {
  for (const session of Object.values(sessions)) await withDeadline(run(session, warmUp), "warming up");
  const pairs = [];
  for (let round = 0; round < rounds; round += 1) {
    // Neither is always the first.
    const order = round % 2 === 0 ? ["plain", "operated"] : ["operated", "plain"];
    const pair = {};
    for (const name of order) {
      const before = processorTime(servers[name].pid);
      const seconds = await withDeadline(run(sessions[name], count), "a round");
      pair[name] = {
        microseconds: (processorTime(servers[name].pid) - before) / 1000 / count,
        rate: count / seconds,
      };
    }
    pairs.push(pair);
  }
  const of = (name, figure) => pairs.map((pair) => pair[name][figure]);
  const ratios = (figure) => pairs.map(({ plain, operated }) => operated[figure] / plain[figure]);
  return {
    processor: spread(ratios("microseconds")),
    rate: spread(ratios("rate")),
    plain: {
      microseconds: quantile(of("plain", "microseconds"), 0.5),
      rate: quantile(of("plain", "rate"), 0.5),
    },
    operated: {
      microseconds: quantile(of("operated", "microseconds"), 0.5),
      rate: quantile(of("operated", "rate"), 0.5),
    },
  };
}

/** The median with its quartiles, and how far it may be off by chance (about 95 of 100 times less). */
function spread(ratios) {
  const [low, median, high] = [0.25, 0.5, 0.75].map((q) => quantile(ratios, q));
  return { low, median, high, error: (1.57 * (high - low)) / Math.sqrt(ratios.length) };
}
