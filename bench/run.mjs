/** What a server has done before a round: the same work until it was steady, or nothing. */
export const STATES = ["warm", "fresh"];

/** The states in which a case is measured. */
export function statesOf({ ownServers = false, firstCalls }) {
  if (ownServers) return ["fresh"];
  return firstCalls === undefined ? ["warm"] : STATES;
}

/**
 * Runs one case over one transport on every target, in alternating rounds. Resolves with the results of each round by
 * state and target.
 *
 * A case is `{name, about, transports, metrics, run(context)}` and may have `warmUp(context)`, `firstCalls(context)`
 * (less of the same work, on a server that has done nothing yet), `setUp()` (a fixture with `stop()`), `ownServers`
 * (each round opens its own servers) and `maxRounds`. A metric is `{name, better: "higher" | "lower"}`, with `context`
 * if it is shown beside others but not compared itself. The context is `{server, open, quick, transport, fixture}`.
 * `run` and `firstCalls` return `{metric: value}`; a value is null if it cannot be measured, and `note` is a remark.
 */
export async function runCase(benchCase, targets, transport, { rounds, quick, states = STATES, report }) {
  const what = targets.length === 0 ? "" : `${benchCase.name} ${transport}`;
  const runners = targets.map((target) => new Runner(benchCase, target, transport, quick));
  const measured = statesOf(benchCase).filter((state) => states.includes(state));
  const results = Object.fromEntries(
    measured.map((state) => [state, Object.fromEntries(targets.map(({ name }) => [name, []]))]),
  );
  const fixture = await benchCase.setUp?.({ quick });
  try {
    for (let round = 1; round <= Math.min(rounds, benchCase.maxRounds ?? rounds); round++) {
      // Alternate the order, so that neither server always comes second.
      const order = round % 2 === 1 ? runners : [...runners].reverse();
      for (const state of measured)
        for (const runner of order) {
          const result = await runner.round(state, fixture, (step) => report(`${what}: ${step}`));
          results[state][runner.name].push(result);
          report(`${what}: ${state}, round ${round} ${runner.name.padEnd(4)} ${describe(benchCase, result)}`);
        }
    }
  } finally {
    await Promise.all(runners.map((runner) => runner.stop()));
    await fixture?.stop();
  }
  return results;
}

/** A case on one target. A failed round is noted and counts as not measured; the next one gets a new server. */
class Runner {
  name;
  #benchCase;
  #open;
  #context;
  #server = null;

  constructor(benchCase, target, transport, quick) {
    this.name = target.name;
    this.#benchCase = benchCase;
    this.#open = () => target.open(transport);
    this.#context = { open: this.#open, quick, transport };
  }

  async round(state, fixture, report) {
    const { ownServers, firstCalls, run, warmUp } = this.#benchCase;
    try {
      const context = { ...this.#context, fixture };
      if (ownServers) return await withClientCpu(() => run(context));
      if (state === "fresh")
        return await onFreshServer(this.#open, (server) =>
          withClientCpu(() => firstCalls({ ...context, server })),
        );
      if (!this.#server) {
        this.#server = await this.#open();
        report(`warming up ${this.name}`);
        await warmUp?.({ ...context, server: this.#server });
      }
      return await withClientCpu(() => run({ ...context, server: this.#server }));
    } catch (error) {
      await this.stop();
      return { note: `failed: ${error.message}` };
    }
  }

  async stop() {
    const server = this.#server;
    this.#server = null;
    await server?.stop();
  }
}

/** Runs `work(server)` on a fresh server. */
export async function onFreshServer(open, work) {
  const server = await open();
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Adds the share of one core that the bench itself used: near 1, the bench is the bottleneck. */
async function withClientCpu(work) {
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const values = await work();
  const { user, system } = process.cpuUsage(cpu);
  return { ...values, clientCpu: (user + system) / 1000 / (performance.now() - begun) };
}

function describe(benchCase, result) {
  const values = benchCase.metrics
    .filter(({ name }) => typeof result[name] === "number")
    .map(({ name }) => `${name} ${number(result[name])}`);
  const client =
    result.clientCpu === undefined ? [] : [`client CPU ${(result.clientCpu * 100).toFixed(0)} %`];
  return [...values, ...(result.note ? [result.note] : []), ...client].join(", ");
}

export function number(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}
