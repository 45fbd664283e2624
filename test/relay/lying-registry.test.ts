import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connect, type Host } from "../../src/client/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { type Kem, loadKem } from "../../src/noise/kem.ts";
import { fingerprint, KeyPair } from "../../src/noise/keys.ts";
import { RelayExecutor } from "../../src/relay/executor.ts";
import { loadIdentity } from "../../src/relay/identity.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { pollUntil } from "../fault/deadline.ts";
import { CLIENT_TOKEN, EXECUTOR_TOKEN, TestRelay } from "./relay-fixture.ts";
import { RelayProgram } from "./relay-program.ts";

const SECRET = "the-captain-s-orders";
const TIMEOUT_MS = 60_000;

/** The answer of a registry. */
type Answer = Readonly<Record<string, unknown>>;

interface Question {
  readonly action: string;
  readonly environmentId: string;
}

/** In front of a relay, and run by the same person: changes whom a request is about, and what is answered. */
class LyingRegistry implements AsyncDisposable {
  static async open(base: string): Promise<LyingRegistry> {
    const registry = new LyingRegistry(base);
    registry.#server.listen(0, "127.0.0.1");
    await once(registry.#server, "listening");
    return registry;
  }

  /** Which relay answers, and about whom. */
  route!: (question: Question) => { readonly base?: string; readonly environmentId?: string };
  lie!: (question: Question, answer: Answer) => Answer;
  readonly #base: string;
  readonly #server = createServer((request, response) => {
    void (async () => {
      const [, environmentId = "", action = ""] = /^\/cloud\/environment\/([^/]+)\/(\w+)$/.exec(
        request.url!,
      )!;
      const question = { action, environmentId };
      const to = { base: this.#base, environmentId, ...this.route(question) };
      const answer = await fetch(`${to.base}/cloud/environment/${to.environmentId}/${action}`, {
        method: "POST",
        headers: { authorization: `Bearer ${CLIENT_TOKEN}` },
        body: await text(request),
      });
      const told = this.lie(question, (await answer.json()) as Answer);
      response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(told));
    })();
  });

  private constructor(base: string) {
    this.#base = base;
    this.tellTheTruth();
  }

  get base(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  tellTheTruth(): void {
    this.route = () => ({});
    this.lie = (_question, answer) => answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

let kem: Kem;
let directory: string;
let relay: RelayProgram;
let registry: LyingRegistry;
/** Fingerprints of executors, by environment. */
const keys: Record<string, string> = {};
/** Messages that the liar has read. */
let seen: string[];
const closing: (() => void | Promise<void>)[] = [];

const file = (name: string): string => join(directory, name);

/** An executor that has a lasting key, and knows where it is. */
async function startExecutor(environmentId: string, args: readonly string[] = []): Promise<void> {
  const executor = await relay.executor("ours", environmentId, {
    base: registry.base,
    args: ["--identity", file(environmentId), ...args],
    env: { HERE: environmentId },
  });
  // It is online before it says so.
  const [key] = await pollUntil(
    () => /SHA256:\S{43}/.exec(executor.stderr) ?? false,
    TIMEOUT_MS,
    () => `the key of ${environmentId}`,
  );
  keys[environmentId] = key;
}

beforeAll(async () => {
  kem = await loadKem();
  directory = await mkdtemp(join(tmpdir(), "lying-registry-"));
  relay = await RelayProgram.start();
  registry = await LyingRegistry.open(relay.base);
  const client = fingerprint(new KeyPair(kem, loadIdentity(file("client"))).publicKey);
  await writeFile(file("authorized"), `${client} the client\n`);
  await Promise.all([
    // A relay makes clients wait after a refused handshake, so that each test about one has an executor of its own.
    startExecutor("guarded", ["--authorized-clients", file("authorized")]),
    startExecutor("sealed", ["--authorized-clients", file("authorized")]),
    startExecutor("open"),
    startExecutor("other"),
  ]);
});

afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

beforeEach(() => {
  seen = [];
  registry.tellTheTruth();
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A client that trusts the registry, or one that knows the executor's key. */
const open = (environmentId: string, { identity = "client", isPinned = false } = {}): Promise<Host> =>
  connect(
    {
      relay: registry.base,
      environmentId,
      identity: file(identity),
      ...(isPinned ? { executorKey: keys[environmentId]! } : {}),
    },
    { connectTimeoutMs: TIMEOUT_MS },
  );

/** On which executor a command runs that the liar should not see. */
async function whereItRuns(host: Promise<Host>): Promise<string> {
  await using connected = await host;
  return (await connected.run(["sh", "-c", `: ${SECRET}; echo $HERE`])).stdout.trim();
}

const hasSeenSecret = (): boolean => seen.some((message) => message.includes(SECRET));

/** Registers a key of the liar's for an environment, and passes on to `victim`, by a stream of its own, what it reads. */
async function standBetween(environmentId: string, victim: string): Promise<void> {
  const middle = await TestRelay.start();
  const reach = await relay.reach(victim);
  const pass = (from: Transport, to: Transport): void =>
    from.open({
      message: (message) => {
        seen.push(message);
        to.send(message);
      },
      drain: () => {},
      close: () => to.close(),
    });
  const liar = new RelayExecutor({
    base: middle.base,
    environmentId,
    bearer: () => EXECUTOR_TOKEN,
    kem,
    own: new KeyPair(kem),
    logger: silentLogger,
    accept: (near) =>
      void reach().then(
        (far) => {
          pass(near, far);
          pass(far, near);
        },
        () => near.close(),
      ),
  });
  closing.push(
    () => liar.close(),
    () => middle[Symbol.asyncDispose](),
  );
  await liar.start();
  registry.route = ({ action }) => (action === "connect" ? { base: middle.base } : {});
}

it("a registry that tells the truth serves everyone who may be served", async () => {
  expect(await whereItRuns(open("open", { isPinned: true }))).toBe("open");
  expect(await whereItRuns(open("guarded", { isPinned: true }))).toBe("guarded");
  expect(await whereItRuns(open("sealed", { isPinned: true }))).toBe("sealed");
});

describe("a registry that names a key of its own as the executor's", () => {
  it("reads everything of a client that trusts it, and passes it on", async () => {
    await standBetween("open", "open");
    expect(await whereItRuns(open("open"))).toBe("open");
    expect(hasSeenSecret()).toBe(true);
  });

  it("sends such a client's commands to another executor", async () => {
    await standBetween("open", "other");
    expect(await whereItRuns(open("open"))).toBe("other");
  });

  it("gets nothing from a client that knows the key", async () => {
    await standBetween("open", "open");
    await expect(whereItRuns(open("open", { isPinned: true }))).rejects.toThrow(`not ${keys["open"]}`);
    expect(seen).toEqual([]);
  });

  it("cannot pass anything on to an executor that knows its clients", async () => {
    await standBetween("sealed", "sealed");
    await expect(whereItRuns(open("sealed"))).rejects.toThrow();
    expect(hasSeenSecret()).toBe(false);
  });
});

describe("a registry that says that everyone is admitted", () => {
  beforeEach(() => {
    registry.lie = ({ action }, answer) => (action === "validate" ? { valid: true } : answer);
  });

  it("lets a stranger in, who even repeats the authorization of another", async () => {
    let first: unknown;
    const admitAll = registry.lie;
    registry.lie = (question, answer) => {
      if (question.action !== "connect") return admitAll(question, answer);
      first ??= answer["harness_key_authorization"];
      return { ...answer, harness_key_authorization: first };
    };
    expect(await whereItRuns(open("open"))).toBe("open");
    expect(await whereItRuns(open("open", { identity: "stranger" }))).toBe("open");
    // The same at an executor that knows its clients.
    first = undefined;
    expect(await whereItRuns(open("guarded"))).toBe("guarded");
    await expect(whereItRuns(open("guarded", { identity: "stranger" }))).rejects.toThrow("reset");
  });
});

describe("a registry that swaps environments", () => {
  beforeEach(() => {
    registry.route = ({ action, environmentId }) =>
      action === "connect" && environmentId === "open" ? { environmentId: "other" } : {};
    registry.lie = ({ action, environmentId }, answer) =>
      action === "connect" ? { ...answer, environment_id: environmentId } : answer;
  });

  it("is found out by a client that knows the key before it sends anything", async () => {
    await expect(whereItRuns(open("open", { isPinned: true }))).rejects.toThrow(`not ${keys["open"]}`);
  });

  it("is found out by the executor, because a handshake names its environment", async () => {
    await expect(whereItRuns(open("open"))).rejects.toThrow("reset");
  });
});
