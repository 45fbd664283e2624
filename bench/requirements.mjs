// Requirements on this server. `atMost` and `atLeast` bound the ratio ours / peer, the median over the rounds of one
// run; with `of: "value"` they bound our own figure, with `of: "best round"` the ratio of the best round.

const both = (part) => ["ws", "stdio"].map((transport) => ({ ...part, transport }));
const ws = (part) => ({ ...part, transport: "ws" });
const stdio = (part) => ({ ...part, transport: "stdio" });
/** On a server that has done nothing before. */
const fresh = (part) => ({ ...part, state: "fresh" });

export const REQUIREMENTS = [
  fresh(ws({ case: "cold-start", metric: "CPU in bare nodes", atMost: 1.6, of: "value" })),
  fresh(stdio({ case: "cold-start", metric: "CPU in bare nodes", atMost: 1.4, of: "value" })),
  fresh(ws({ case: "memory", metric: "idle PSS MiB", atMost: 1 })),
  fresh(ws({ case: "memory", metric: "MiB per 100 pipe", atMost: 0.7 })),
  fresh(ws({ case: "memory", metric: "MiB per 100 pty", atMost: 0.7 })),
  fresh(ws({ case: "connections", metric: "MiB per 1000", atMost: 0.2 })),
  fresh(ws({ case: "connections", metric: "seconds per 1000", atMost: 1.2 })),
  fresh(ws({ case: "rpc", metric: "p50 us", atMost: 1.05 })),
  fresh(ws({ case: "rpc", metric: "p99 us", atMost: 1.2 })),
  fresh(ws({ case: "rpc", metric: "64 in flight /s", atLeast: 1.1 })),
  fresh(stdio({ case: "rpc", metric: "p99 us", atMost: 2 })),
  fresh(stdio({ case: "echo", metric: "pipe p99 us", atMost: 2 })),
  fresh(stdio({ case: "echo", metric: "pty p99 us", atMost: 2 })),
  fresh(ws({ case: "files-small", metric: "read p50 us", atMost: 1.05 })),
  fresh(ws({ case: "files-small", metric: "read p99 us", atMost: 2 })),
  fresh(ws({ case: "files-small", metric: "write 1 KiB /s", atLeast: 0.8 })),
  fresh(ws({ case: "files-large", metric: "write 8 MiB MB/s", atLeast: 1 })),
  fresh(ws({ case: "many-processes", metric: "rpc p50 us", atMost: 1.2 })),
  fresh(ws({ case: "stopped-reader", metric: "others' p99 us", atMost: 1.5 })),
  fresh(ws({ case: "http", metric: "small p50 us", atMost: 1.1 })),
  fresh(ws({ case: "http", metric: "stream MB/s", atLeast: 1.3 })),
  fresh(ws({ case: "output-pty", metric: "MB/s", atLeast: 1.3 })),
  fresh(stdio({ case: "burst", metric: "2000 answered ms", atMost: 1 })),
  ws({ case: "rpc", metric: "p50 us", atMost: 1 }),
  ws({ case: "rpc", metric: "p99 us", atMost: 1.2 }),
  ws({ case: "rpc", metric: "64 in flight /s", atLeast: 1.2 }),
  ...["pipe p50 ms", "pty p50 ms"].flatMap((metric) => [
    ws({ case: "spawn-latency", metric, atMost: 0.05 }),
    stdio({ case: "spawn-latency", metric, atMost: 0.3 }),
  ]),
  ...["spawn-rate", "spawn-rate-pty"].map((name) => ws({ case: name, metric: "processes/s", atLeast: 6 })),
  ...["spawn-rate-held", "spawn-rate-held-pty"].map((name) =>
    fresh(ws({ case: name, metric: "processes/s", atLeast: 6 })),
  ),
  fresh(ws({ case: "short-processes", metric: "peak RSS MiB", atMost: 1 })),
  ...["output", "output-8"].flatMap((name) => [
    ws({ case: name, metric: "MB/s", atLeast: 2 }),
    stdio({ case: name, metric: "MB/s", atLeast: 4 }),
    ws({ case: name, metric: "CPU s/GiB", atMost: 0.4 }),
    ws({ case: name, metric: "peak RSS MiB", atMost: 1 }),
  ]),
  ws({ case: "output-pty", metric: "MB/s", atLeast: 1.2 }),
  ws({ case: "lines", metric: "lines/s", atLeast: 1 }),
  ...["pipe p50 us", "pty p50 us"].flatMap((metric) => [
    ws({ case: "echo", metric, atMost: 0.02 }),
    stdio({ case: "echo", metric, atMost: 1 }),
  ]),
  ...["read 1 KiB /s", "write 1 KiB /s", "stat /s"].map((metric) =>
    ws({ case: "files-small", metric, atLeast: 1.2 }),
  ),
  ...["read 64 MiB MB/s", "write 8 MiB MB/s", "readdir 10 000 /s"].map((metric) =>
    ws({ case: "files-large", metric, atLeast: 1.2 }),
  ),
  ws({ case: "http", metric: "stream MB/s", atLeast: 1.3 }),
  ws({ case: "http", metric: "small p50 us", atMost: 1.3 }),
  stdio({ case: "sandbox", metric: "start p50 ms", atMost: 0.3 }),
  stdio({ case: "sandbox", metric: "write p50 ms", atMost: 0.15 }),
  stdio({ case: "sandbox", metric: "read p50 ms", atMost: 1 }),
  ...both(fresh({ case: "burst", metric: "answered %", atLeast: 100, of: "value" })),
];

/** Requirements of `--guard`: far from the usual figures, so that only a real regression fails on a busy machine. */
export const GUARD = [
  ws({ case: "output", metric: "MB/s", atLeast: 1.3 }),
  ws({ case: "output", metric: "CPU s/GiB", atMost: 0.6 }),
  ws({ case: "echo", metric: "pty p50 us", atMost: 0.1 }),
  // The peer waits 40 ms whatever the machine does, ours for its turn on a busy processor.
  ws({ case: "spawn-latency", metric: "pipe p50 ms", atMost: 0.2, of: "best round" }),
  ws({ case: "rpc", metric: "64 in flight /s", atLeast: 1 }),
  fresh(ws({ case: "rpc", metric: "p50 us", atMost: 2, of: "best round" })),
  fresh(stdio({ case: "rpc", metric: "p50 us", atMost: 1.5, of: "best round" })),
];

/** The state of the server that a requirement is about. */
export const stateOf = ({ state = "warm" }) => state;

/** The requirement on a row, or undefined. Only this server has requirements. */
export const requirementOf = (requirements, row) =>
  row.target !== "ours"
    ? undefined
    : requirements.find(
        (one) =>
          one.case === row.case &&
          one.metric === row.metric &&
          one.transport === row.transport &&
          stateOf(one) === row.state,
      );

/** What a requirement is about; undefined if it was not measured. */
export function figureOf({ of, atMost }, { summary, ratio }) {
  if (of === "value") return summary?.median;
  return of === "best round" ? ratio?.[atMost === undefined ? "max" : "min"] : ratio?.median;
}

/** "pass", "miss", or "not measured", for a row with a requirement. */
export function judge(requirement, row) {
  const measured = figureOf(requirement, row);
  if (measured === undefined) return "not measured";
  return measured <= (requirement.atMost ?? Infinity) && measured >= (requirement.atLeast ?? -Infinity)
    ? "pass"
    : "miss";
}
