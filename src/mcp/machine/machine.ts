import { abortable } from "../../base/deadlines.ts";
import { ConnectionError, ExecError, messageOf } from "../../base/errors.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { Host } from "../../client/host/host.ts";
import { connectLazily, type LazyHost } from "../../client/host/lazy.ts";

/** Where the tools work. */
export interface MachineOptions {
  /** Its name for a model: `build`, `wss://build.example`. */
  readonly name: string;
  /** True if paths of this program's machine are paths there. */
  readonly isLocal: boolean;
  readonly open: (signal: AbortSignal) => Promise<Host>;
}

/** The machine, connected when it is first needed, and again after a connection that could not be recovered. */
export class Machine implements AsyncDisposable {
  readonly name: string;
  readonly isLocal: boolean;
  readonly #lazy: LazyHost;
  #host: Host | undefined;
  readonly #closing = new AbortController();

  constructor({ name, isLocal, open }: MachineOptions) {
    this.name = name;
    this.isLocal = isLocal;
    this.#lazy = connectLazily(() => open(this.#closing.signal));
  }

  /** What the machine said about itself; undefined before the first connection. */
  get environment(): EnvironmentInfo | undefined {
    return this.#host?.environment;
  }

  async host(signal?: AbortSignal): Promise<Host> {
    if (this.#closing.signal.aborted) throw new ConnectionError("the client has gone");
    try {
      this.#host = await abortable(this.#lazy.get(), signal);
      return this.#host;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      const code = error instanceof ExecError ? error.code : "CONNECTION_CLOSED";
      throw new ExecError(
        code,
        `cannot reach the machine ${this.name}: ${messageOf(error)}. The next call tries again`,
        { cause: error },
      );
    }
  }

  /** Ends the session, and with it what it runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    // A host that is there is not affected.
    this.#closing.abort(new ConnectionError("the client has gone"));
    await this.#lazy.close();
  }
}
