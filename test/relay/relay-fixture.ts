import { connect, type Host } from "../../src/client/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { type Kem, loadKem } from "../../src/noise/kem.ts";
import { KeyPair } from "../../src/noise/keys.ts";
import { RelayExecutor } from "../../src/relay/executor.ts";
import { relayReach } from "../../src/relay/reach.ts";
import type { RelayToken } from "../../src/relay/service/registry-api.ts";
import { RelayService } from "../../src/relay/service/relay-service.ts";
import { createServer } from "../../src/server/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { freePort } from "../fixtures/free-port.ts";

const DEADLINE_MS = 60_000;
export const EXECUTOR_TOKEN = "executor-token";
export const CLIENT_TOKEN = "client-token";

const isFor = (): boolean => true;
const TOKENS = new Map<string, RelayToken>([
  [`Bearer ${EXECUTOR_TOKEN}`, { name: "machine", mayRegister: true, mayConnect: false, isFor }],
  [`Bearer ${CLIENT_TOKEN}`, { name: "dev", mayRegister: false, mayConnect: true, isFor }],
]);

/** A relay in this program, that can be stopped and started again on the same port. */
export class TestRelay implements AsyncDisposable {
  readonly kem: Kem;
  service!: RelayService;
  base = "";
  readonly #closing: (() => void | Promise<void>)[] = [];

  private constructor(kem: Kem) {
    this.kem = kem;
  }

  static async start(): Promise<TestRelay> {
    const relay = new TestRelay(await loadKem());
    await relay.start();
    return relay;
  }

  async start(): Promise<void> {
    this.service = new RelayService({
      authenticate: async ({ headers }) => TOKENS.get(headers.authorization ?? "") ?? { refusal: "unknown" },
      isOpen: true,
      record: () => {},
    });
    this.base = await this.service.listen(
      "127.0.0.1",
      this.base === "" ? await freePort() : Number(new URL(this.base).port),
    );
  }

  /** Ends it at once; its state is lost. */
  async kill(): Promise<void> {
    await this.service.close();
  }

  /** Starts an executor that serves this machine. */
  async executor(environmentId: string, own = new KeyPair(this.kem)): Promise<RelayExecutor> {
    const server = createServer();
    const executor = new RelayExecutor({
      base: this.base,
      environmentId,
      bearer: () => EXECUTOR_TOKEN,
      kem: this.kem,
      own,
      logger: silentLogger,
      accept: (transport, from) => server.accept(transport, { from }),
    });
    this.#closing.push(
      () => executor.close(),
      () => server.close(),
    );
    await executor.start();
    return executor;
  }

  connect(environmentId: string, options: { readonly executorKey?: string } = {}): Promise<Host> {
    return connect({ relay: this.base, environmentId, ...options }, { token: CLIENT_TOKEN });
  }

  /** Opens streams to an executor, below sessions. */
  async reach(environmentId: string): Promise<() => Promise<Transport>> {
    const open = await relayReach({
      relay: this.base,
      environmentId,
      token: CLIENT_TOKEN,
      timeoutMs: DEADLINE_MS,
    });
    return () => open(new AbortController().signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing) await close();
    await this.kill();
  }
}
