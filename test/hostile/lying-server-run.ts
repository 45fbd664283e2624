import { ExecError } from "../../src/base/errors.ts";
import { connect, type ConnectTarget } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { SeededRandom } from "../fault/seeded-random.ts";
import { FLOODS } from "./lying-floods.ts";
import { listenOnSocket } from "./scripted-socket.ts";
import { hostValue, type Operation, operations } from "./client-operations.ts";
import { paramsSchema, resultSchema, SILENCE, ScriptedServer, type Tampering } from "./scripted-server.ts";
import { type Lie, lied, liesAbout } from "./wire-mutations.ts";

// A separate program: it runs clients against servers that lie, reports what went wrong, and must end on its own.

/** Everything requested must settle within this time, from the moment at which nothing more can arrive. */
const SETTLE_MS = 60_000;
/** How long a promise may wait for what a lying server might still send. */
const QUIET_MS = 300;
const LYING: Patience = { initializeTimeoutMs: 1_000, quietMs: QUIET_MS };
/** An honest one sends everything, whatever the machine does. */
const HONEST: Patience = { initializeTimeoutMs: 60_000, quietMs: 60_000 };
const AT_ONCE = 200;
const MAX_FAILURES = 20;

interface Patience {
  readonly initializeTimeoutMs: number;
  readonly quietMs: number;
}

interface Scenario {
  readonly name: string;
  readonly operation: Operation;
  readonly tampering: Tampering;
  readonly signal?: AbortSignal;
  /** Done while the operation is in progress. */
  readonly meanwhile?: (server: ScriptedServer) => void;
  /** Server of the scenario, when it needs to know it beforehand. */
  readonly server?: ScriptedServer;
  readonly patience?: Patience;
}

const failures: string[] = [];
const underWay = new Set<string>();
const stats = { scenarios: 0, resolved: 0, rejected: 0, needed: 0 };

function fail(name: string, what: string): void {
  if (failures.length < MAX_FAILURES) failures.push(`${name}: ${what.slice(0, 500)}`);
}

for (const event of ["uncaughtException", "unhandledRejection"] as const)
  process.on(event, (error: unknown) => {
    const stack = error instanceof Error ? error.stack : String(error);
    fail(`${event} during one of ${[...underWay].slice(0, 5).join(" | ")}`, String(stack));
  });

/** Undefined when it is still pending. */
async function outcomeWithin<T>(
  promise: Promise<T>,
  ms: number,
): Promise<{ value: T } | { error: unknown } | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  const settled = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isExpected(error: unknown, { operation, signal }: Scenario): boolean {
  if (signal?.aborted && error === signal.reason) return true;
  if (error instanceof ExecError) return true;
  // A fetch fails as the platform's does.
  return (
    operation.name.startsWith("http") &&
    error instanceof TypeError &&
    /^(fetch failed|the body)/.test(error.message)
  );
}

function judge(scenario: Scenario, outcome: { value: unknown } | { error: unknown } | undefined): void {
  const { name, operation } = scenario;
  if (outcome === undefined) {
    fail(name, `pending ${SETTLE_MS} ms after the end`);
  } else if ("error" in outcome) {
    stats.rejected += 1;
    const { error } = outcome;
    if (!isExpected(error, scenario))
      fail(name, `rejected with ${error instanceof Error ? error.stack : String(error)}`);
  } else {
    stats.resolved += 1;
    const checked = operation.value.safeParse(outcome.value);
    if (!checked.success) fail(name, `resolved with what its type forbids: ${checked.error.message}`);
  }
}

async function play(scenario: Scenario, target?: ConnectTarget): Promise<void> {
  const { name, operation, tampering, signal, patience = LYING } = scenario;
  stats.scenarios += 1;
  underWay.add(name);
  const server = scenario.server ?? new ScriptedServer(tampering);
  try {
    const connecting = connect(target ?? server.open, {
      initializeTimeoutMs: patience.initializeTimeoutMs,
      recoveryTimeoutMs: 500,
    });
    const opened = await outcomeWithin(connecting, SETTLE_MS);
    if (opened === undefined || "error" in opened) {
      if (opened === undefined) fail(name, "still connecting");
      else if (!(opened.error instanceof ExecError))
        fail(name, `connecting failed with ${String(opened.error)}`);
      return;
    }
    await use(scenario, server, opened.value);
  } finally {
    underWay.delete(name);
  }

  async function use(scenario: Scenario, server: ScriptedServer, host: Host): Promise<void> {
    const { sessionId, environment, state } = host;
    const checked = hostValue.safeParse({ sessionId, environment, state });
    if (!checked.success) fail(name, `the host is what its type forbids: ${checked.error.message}`);
    const running = operation.run(host, signal);
    scenario.meanwhile?.(server);
    let outcome = await outcomeWithin(running, patience.quietMs);
    // A reader may wait for what never comes, until the host or the signal says that it is enough.
    if (outcome === undefined) stats.needed += 1;
    const closed = await outcomeWithin(host.close(), SETTLE_MS);
    if (closed === undefined) fail(name, "the host does not close");
    else if ("error" in closed) fail(name, `close rejected with ${String(closed.error)}`);
    outcome ??= await outcomeWithin(running, SETTLE_MS);
    judge(scenario, outcome);
  }
}

/** Some at a time, so that waiting costs little. */
async function playAll(scenarios: Iterable<Scenario>): Promise<void> {
  const iterator = scenarios[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) {
      if (failures.length >= MAX_FAILURES) return;
      await play(next.value);
      // Servers in memory need no turn of the event loop, but the timers of others do.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

const describe = (lie: Lie): string => `${lie.path.join(".") || "all"} is ${lie.name}`;

/** What each operation receives from an honest server. Also proves that the script is honest. */
async function rehearse(operation: Operation): Promise<ScriptedServer> {
  const server = new ScriptedServer();
  await play({ name: `honest ${operation.name}`, operation, tampering: {}, server, patience: HONEST });
  for (const [method, result] of server.results)
    if (!resultSchema(method).safeParse(result).success) fail(operation.name, `the script breaks ${method}`);
  return server;
}

/** Every field of every answer, wrong once or always. */
function* liesInResults(
  operation: Operation,
  server: ScriptedServer,
  random: SeededRandom,
): Iterable<Scenario> {
  for (const [method, honest] of server.results) {
    // The same for all operations, so one in twenty is enough here.
    const share = method === "initialize" ? 1 / 20 : 1;
    for (const lie of liesAbout(resultSchema(method), honest, random)) {
      if (random.next() > share) continue;
      const wrongNth = random.pick([1, 1, 2, 0]);
      yield {
        name: `${operation.name}: answer ${wrongNth || "s"} of ${method}: ${describe(lie)}`,
        operation,
        tampering: {
          result: (name, nth, result) =>
            name === method && (wrongNth === 0 || nth === wrongNth)
              ? lied(resultSchema(method), result, lie)
              : result,
        },
      };
    }
  }
}

/** Every field of every notification. */
function* liesInNotifications(
  operation: Operation,
  server: ScriptedServer,
  random: SeededRandom,
): Iterable<Scenario> {
  for (const [method, honest] of server.told) {
    for (const lie of liesAbout(paramsSchema(method), honest, random)) {
      const wrongNth = random.pick([1, 2, 3, 0]);
      const isExtra = random.next() < 1 / 3;
      yield {
        name: `${operation.name}: ${isExtra ? "an extra " : ""}${method} ${wrongNth || "s"}: ${describe(lie)}`,
        operation,
        tampering: {
          params: (name, nth, params) => {
            if (name !== method || (wrongNth !== 0 && nth !== wrongNth)) return [params];
            const wrong = lied(paramsSchema(method), params, lie);
            return isExtra ? [wrong, params] : [wrong];
          },
        },
      };
    }
  }
}

/** Events in any order: late, early, twice, never, of others, before their start and after their end. */
function* orders(operation: Operation, count: number, random: SeededRandom): Iterable<Scenario> {
  for (let index = 0; index < count; index += 1) {
    const seed = random.between(0, 2 ** 32 - 1);
    const own = new SeededRandom(seed);
    const held: { method: string; params: Record<string, unknown> }[] = [];
    const server: ScriptedServer = new ScriptedServer({
      result: (_method, _nth, result) => {
        // Sometimes, held-back messages precede an answer.
        if (own.next() < 0.3) release();
        return own.next() < 0.02 ? SILENCE : result;
      },
      params: (method, _nth, params) => {
        const dice = own.next();
        if (dice < 0.1) return [];
        if (dice < 0.2) return [params, params];
        if (dice < 0.5) {
          held.splice(own.between(0, held.length), 0, { method, params });
          return [];
        }
        if (dice < 0.6) return [{ ...params, ...foreign(own) }, params];
        if (dice < 0.7) return [{ ...params, seq: Number(params["seq"]) + own.between(1, 1000) }, params];
        return [params];
      },
    });
    const release = (): void => {
      for (const { method, params } of held.splice(0)) server.say({ method, params });
    };
    yield {
      name: `${operation.name}: order ${seed}`,
      operation,
      tampering: {},
      server,
      meanwhile: () => {
        setTimeout(release, own.between(1, 50));
        if (own.next() < 0.2) setTimeout(() => server.cut(), own.between(0, 60));
      },
    };
  }
}

function foreign(random: SeededRandom): Record<string, unknown> {
  const id = random.pick(["unknown", "", "__proto__", "constructor", "http-1", "watch-1"]);
  return { processId: id, requestId: id, watchId: id };
}

/** The signal is aborted, the connection cut, or the server falls silent, at each message that passes. */
function* interruptions(operation: Operation, random: SeededRandom): Iterable<Scenario> {
  for (let moment = 3; moment <= 24; moment += 1) {
    for (const how of ["abort", "cut", "silence and abort", "abort and cut"] as const) {
      const controller = new AbortController();
      let isSilent = false;
      const act = (): void => {
        if (how.includes("silence")) isSilent = true;
        if (how.includes("abort")) setTimeout(() => controller.abort(), random.pick([0, 0, 1, 10]));
        if (how.includes("cut")) server.cut();
      };
      const server: ScriptedServer = new ScriptedServer({
        moment: (index) => {
          if (index === moment) act();
        },
        result: (_method, _nth, result) => (isSilent ? SILENCE : result),
        params: (_method, _nth, params) => (isSilent ? [] : [params]),
      });
      const name = `${operation.name}: ${how} at message ${moment}`;
      yield { name, operation, tampering: {}, server, signal: controller.signal };
    }
  }
}

function* shareOf(scenarios: Iterable<Scenario>, share: number, random: SeededRandom): Iterable<Scenario> {
  for (const scenario of scenarios) if (random.next() < share) yield scenario;
}

/** The same over a socket of the machine. */
async function playOnSocket(scenario: Scenario): Promise<void> {
  const server = scenario.server ?? new ScriptedServer(scenario.tampering);
  await using listening = await listenOnSocket(server);
  await play({ ...scenario, name: `${scenario.name}, on a socket`, server }, listening.url);
}

interface Plan {
  readonly seed: number;
  /** Share of all lies that are tried. */
  readonly share: number;
  readonly orders: number;
  readonly onSockets: number;
  readonly floods: boolean;
}

/** What every operation does, and everything that can go wrong with it. */
async function playEverything({ seed, share, orders: orderCount, onSockets }: Plan): Promise<object> {
  const rehearsals = await Promise.all(operations.map(rehearse));
  function* everything(part: number): Iterable<Scenario> {
    for (const [index, operation] of operations.entries()) {
      const honest = rehearsals[index]!;
      const random = new SeededRandom(seed + index);
      yield* shareOf(liesInResults(operation, honest, random), part, random);
      yield* shareOf(liesInNotifications(operation, honest, random), part, random);
      yield* orders(operation, honest.told.size === 0 ? 0 : orderCount, random);
      yield* shareOf(interruptions(operation, random), Math.min(1, part * 4), random);
    }
  }
  await playAll(everything(share));
  const random = new SeededRandom(seed);
  const some = [...everything(share / 20)];
  for (let count = 0; count < onSockets && some.length > 0; count += 1)
    await playOnSocket(some.splice(random.between(0, some.length - 1), 1)[0]!);
  return {
    heard: [...new Set(rehearsals.flatMap(({ results }) => [...results.keys()]))],
    told: [...new Set(rehearsals.flatMap(({ told }) => [...told.keys()]))],
  };
}

async function playFloods(): Promise<object> {
  const sent: Record<string, number> = {};
  const floods = Object.entries(FLOODS).map(async ([name, flood]) => {
    const outcome = await outcomeWithin(flood(), 120_000);
    if (outcome === undefined) fail(name, "the flood does not end");
    else if ("error" in outcome) fail(name, String((outcome.error as Error).stack));
    else sent[name] = outcome.value;
  });
  await Promise.all(floods);
  return { sent };
}

async function main(plan: Plan): Promise<void> {
  const begun = performance.now();
  const found = plan.floods ? await playFloods() : await playEverything(plan);
  const seconds = (performance.now() - begun) / 1000;
  const peakMiB = process.resourceUsage().maxRSS / 1024;
  process.stdout.write(`${JSON.stringify({ failures, stats, seconds, peakMiB, ...found })}\n`);
}

void main(JSON.parse(process.argv[2]!) as Plan);
