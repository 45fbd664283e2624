import type { ServerResult } from "../../protocol/index.ts";
import type { DecideNetwork } from "../routes/network-access.ts";
import { checkedRequest } from "../calls/wire-check.ts";

/** Concurrent questions of a server. It asks no more than this. */
const MAX_QUESTIONS = 256;
const NO: ServerResult<"network/policyRequest"> = { decision: { type: "deny", reason: "not_allowed" } };

/** Answers the server's requests: whether processes may reach a host. */
export class ServerRequests {
  readonly #deciders = new Map<string, DecideNetwork>();
  #questions = 0;

  /** Asks this function about the network of a process. */
  decide(processId: string, decider: DecideNetwork): void {
    if (!this.#deciders.has(processId)) this.#deciders.set(processId, decider);
  }

  forget(processId: string): void {
    this.#deciders.delete(processId);
  }

  /** Undefined for what this client does not answer. Rejects if the program's function fails. */
  answer(method: string, params: unknown): Promise<unknown> | undefined {
    if (method !== "network/policyRequest" || this.#questions >= MAX_QUESTIONS) return undefined;
    return this.#decide(params);
  }

  async #decide(params: unknown): Promise<ServerResult<"network/policyRequest">> {
    const { processId, request } = checkedRequest("network/policyRequest", params);
    const decider = this.#deciders.get(processId);
    if (decider === undefined) return NO;
    this.#questions += 1;
    try {
      const decision = await decider({ processId, ...request });
      return decision === undefined ? NO : { decision };
    } finally {
      this.#questions -= 1;
    }
  }
}
