import { Fifo } from "../../base/fifo.ts";
import type { Logger } from "../../base/logger.ts";
import type { IdText } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/index.ts";
import { DeferredAnswer, LazyAnswer } from "../../rpc/deferred-answer.ts";
import { toWire } from "../../rpc/error-wire.ts";
import type { IncomingRequest } from "../../rpc/incoming-request.ts";
import type { HandlerResult } from "../../rpc/router.ts";
import type { Traffic } from "../settings/server-state.ts";
import type { ConnectionBudget } from "./byte-budget.ts";
import type { RequestWatch } from "./observation.ts";
import { isFull, type Peer } from "./peer.ts";
import type { RequestIntake } from "./request-intake.ts";

interface LateAnswer extends Pick<IncomingRequest, "id" | "method"> {
  readonly make: () => unknown;
  readonly watch: RequestWatch | undefined;
}

const AT_ONCE = { lazily: false };
const LAZILY = { lazily: true };

/** Sends what handlers return or throw to one client. */
export class Answers {
  readonly #peer: Peer;
  readonly #budget: ConnectionBudget;
  readonly #intake: RequestIntake;
  readonly #logger: Logger;
  /** Answers to be built when there is room for them. */
  readonly #late = new Fifo<LateAnswer>();
  #requests = 0;
  #errors = 0;

  constructor(
    peer: Peer,
    { budget, intake, logger }: { budget: ConnectionBudget; intake: RequestIntake; logger: Logger },
  ) {
    this.#peer = peer;
    this.#budget = budget;
    this.#intake = intake;
    this.#logger = logger;
  }

  get counts(): Pick<Traffic, "requests" | "errors"> {
    return { requests: this.#requests, errors: this.#errors };
  }

  /** Returns a promise if later requests have to wait for the result; it does not reject. */
  settle(
    id: IdText,
    method: string,
    result: HandlerResult<unknown>,
    watch: RequestWatch | undefined,
  ): Promise<void> | undefined {
    if (!(result instanceof Promise)) {
      this.#finish(id, method, result, watch);
      return undefined;
    }
    return result.then(
      (value) => this.#finish(id, method, value, watch),
      (error: unknown) => this.fail(id, method, error, watch),
    );
  }

  /** A deferred answer no longer holds up later requests. */
  #finish(id: IdText, method: string, result: unknown, watch: RequestWatch | undefined): void {
    if (!(result instanceof DeferredAnswer)) {
      this.#respond(id, result, AT_ONCE, watch);
      return;
    }
    void (result as DeferredAnswer<unknown>).promise.then(
      (value) => {
        if (value instanceof LazyAnswer)
          this.#late.push({ id, method, make: value.make as () => unknown, watch });
        else this.#respond(id, value, LAZILY, watch);
        this.sendLate();
      },
      (error: unknown) => this.fail(id, method, error, watch),
    );
  }

  /** Thousands may have waited for the same event. Their order does not matter, so build a few at a time. */
  sendLate(): void {
    while (this.#late.size > 0 && !isFull(this.#peer)) {
      const { id, method, make, watch } = this.#late.shift()!;
      let result: unknown;
      try {
        result = make();
      } catch (error) {
        this.fail(id, method, error, watch);
        continue;
      }
      this.#respond(id, result, LAZILY, watch);
    }
  }

  #respond(id: IdText, result: unknown, when: { lazily: boolean }, watch: RequestWatch | undefined): void {
    this.#requests += 1;
    watch?.answered(result, undefined);
    this.#peer.respond(id, result, when);
    if (isFull(this.#peer)) this.#budget.queueChanged();
    this.#intake.answered();
  }

  fail(id: IdText, method: string, error: unknown, watch: RequestWatch | undefined): void {
    let wire = toWire(error);
    if (wire === undefined) {
      this.#logger.error("a handler failed", {
        method,
        error: error instanceof Error ? error.stack : String(error),
      });
      wire = { code: RpcCode.internal, message: `${method}: internal error` };
    }
    this.#requests += 1;
    this.#errors += 1;
    watch?.answered(undefined, wire);
    this.#peer.fail(id, wire);
    this.#intake.answered();
  }

  /** Drops the answers that have not been built. */
  clear(): void {
    this.#late.clear();
  }
}
