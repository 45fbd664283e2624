import { anySignal } from "../../base/deadlines.ts";
import { after } from "../../base/duration.ts";
import type { Attempt, ClientDecision, Decision } from "../../capabilities/network-proxy/gatekeeper.ts";
import { type NotificationParams, type ServerParams, serverMethods } from "../../protocol/index.ts";
import { HIGH_WATER_BYTES } from "../../transport/transport.ts";
import type { Peer } from "../wire/peer.ts";

/** Time for an answer in addition to the decision time. */
const ANSWER_GRACE_MS = 5_000;
/**
 * Maximum number of unanswered questions of a session. Further ones are answered with no, like those without an answer.
 */
const MAX_QUESTIONS = 256;
const MAX_REASON_BYTES = 1024;

const NO: ClientDecision = { type: "deny", reason: "not_allowed" };

/** Asks the client of a session about the network, and notifies it of each decision. */
export class PolicyClient {
  readonly #peer: () => Peer | undefined;
  #questions = 0;

  /** `peer` is the session's connection at that moment. */
  constructor(peer: () => Peer | undefined) {
    this.#peer = peer;
  }

  /** Anything but a valid answer means no, and so does a client that is not connected or disconnects. */
  async ask(
    processId: string,
    { protocol, host, port }: Attempt,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<ClientDecision> {
    const peer = this.#peer();
    if (peer === undefined || peer.ended || this.#questions >= MAX_QUESTIONS) return NO;
    this.#questions += 1;
    const overdue = new AbortController();
    const cancel = after(timeoutMs + ANSWER_GRACE_MS, () => overdue.abort());
    const params: ServerParams<"network/policyRequest"> = { processId, request: { protocol, host, port } };
    try {
      const answer = await peer.request("network/policyRequest", params, anySignal([signal, overdue.signal]));
      return decisionOf(answer);
    } catch {
      return NO;
    } finally {
      cancel();
      this.#questions -= 1;
    }
  }

  /** Best effort: a client that is not connected, or falls behind, misses it. */
  report(processId: string, { attempt, ...decided }: Decision): void {
    const peer = this.#peer();
    if (peer === undefined || peer.ended || peer.queuedBytes >= HIGH_WATER_BYTES) return;
    const { decision, source, reason, policyOverride } = decided;
    const { protocol, host, port, method, client } = attempt;
    const params: NotificationParams<"network/policyDecision"> = {
      processId,
      timestamp: new Date().toISOString(),
      scope: "domain",
      decision,
      source,
      reason,
      protocol,
      host,
      port,
      ...(method === undefined ? {} : { method }),
      ...(client === undefined ? {} : { client }),
      policyOverride,
    };
    peer.notify("network/policyDecision", params);
  }
}

function decisionOf(answer: unknown): ClientDecision {
  const parsed = serverMethods["network/policyRequest"].result.safeParse(answer);
  if (!parsed.success) return NO;
  const { decision } = parsed.data;
  if (decision.type === "allow") return { type: "allow" };
  const { type, reason } = decision;
  return Buffer.byteLength(reason) > MAX_REASON_BYTES || /\p{Cc}/u.test(reason) ? NO : { type, reason };
}
