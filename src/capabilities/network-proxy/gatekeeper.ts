import type { LookupAddress } from "node:dns";
import type { Socket } from "node:net";
import type { Destination } from "./destination.ts";
import type { NameResolver } from "./name-resolver.ts";
import type { NetworkRules } from "./network-rules.ts";

type ProxyProtocol = "http" | "https_connect" | "socks5_tcp";

/** Something that a process wants to do on the network. */
export interface Attempt extends Destination {
  readonly protocol: ProxyProtocol;
  /** HTTP method. */
  readonly method?: string;
  /** The process's own address and port on its connection to the proxy. */
  readonly client?: string;
}

export function attemptOf(
  protocol: ProxyProtocol,
  { host, port }: Destination,
  { remoteAddress, remotePort }: Socket,
  method?: string,
): Attempt {
  return {
    protocol,
    host,
    port,
    ...(method === undefined ? {} : { method }),
    ...(remoteAddress === undefined ? {} : { client: `${remoteAddress}:${remotePort}` }),
  };
}

/** The client's answer about an attempt that the rules do not allow. */
export type ClientDecision =
  | { readonly type: "allow" }
  | { readonly type: "deny" | "ask"; readonly reason: string };

/** A decision about an attempt, as it is reported. */
export interface Decision {
  readonly attempt: Attempt;
  readonly decision: "allow" | "deny" | "ask";
  /** The source of the decision: the rules, the client, the mode, or the proxy because it lacks something. */
  readonly source: "baseline_policy" | "decider" | "mode_guard" | "proxy_state";
  readonly reason: string;
  /** The client allowed what the rules do not. */
  readonly policyOverride: boolean;
}

export type Refusal = Decision & { readonly decision: "deny" | "ask" };

/** The addresses that were checked, and the only ones to connect to. Empty if the name has none. */
export interface Admission {
  readonly addresses: readonly LookupAddress[];
}

export interface GatekeeperOptions {
  readonly rules: NetworkRules;
  /** Whether the proxy sees what is sent over HTTPS, so that the mode can hold there, too. */
  readonly inspects?: boolean | undefined;
  readonly resolver: NameResolver;
  /** Asks the client about what the rules do not allow; without it that is refused. Never rejects. */
  readonly ask?: ((attempt: Attempt, signal: AbortSignal) => Promise<ClientDecision>) | undefined;
  readonly report: (decision: Decision) => void;
  /** True for addresses at which this server listens. Nothing that it starts may reach them through it. */
  readonly isOwn: (ip: string, port: number) => boolean;
}

/** Reason of a client that denies without one. */
const UNNAMED_REASON = "policy_denied";

/** Decides about each attempt once, and reports what it decided. */
export class Gatekeeper {
  readonly #options: GatekeeperOptions;

  constructor(options: GatekeeperOptions) {
    this.#options = options;
  }

  /** The signal ends the wait for the client. */
  async admit(attempt: Attempt, signal: AbortSignal): Promise<Admission | Refusal> {
    const { rules, inspects = false } = this.#options;
    // SOCKS carries anything, so its method is unknown.
    if (rules.limited && attempt.protocol === "socks5_tcp")
      return this.#refuse(attempt, "mode_guard", "method_not_allowed");
    const verdict = rules.judge(attempt.host);
    const mayAsk = !verdict.allowed && verdict.reason === "not_allowed";
    const asked = mayAsk ? await this.#options.ask?.(attempt, signal) : undefined;
    if (asked !== undefined && asked.type !== "allow")
      return this.#refuse(attempt, "decider", asked.reason || UNNAMED_REASON, asked.type);
    if (!verdict.allowed && asked === undefined)
      return this.#refuse(attempt, "baseline_policy", verdict.reason);
    const admission = await this.#resolve(attempt, verdict);
    if (typeof admission === "string") return this.#refuse(attempt, "baseline_policy", admission);
    this.#options.report({
      attempt,
      decision: "allow",
      ...(asked === undefined
        ? { source: "baseline_policy", reason: "allow", policyOverride: false }
        : { source: "decider", reason: "not_allowed", policyOverride: true }),
    });
    if (attempt.protocol === "https_connect" && rules.limited && !inspects)
      return this.#refuse(attempt, "mode_guard", "mitm_required");
    if (attempt.protocol === "http" && !rules.permitsMethod(attempt.method ?? ""))
      return this.#refuse(attempt, "mode_guard", "method_not_allowed");
    return admission;
  }

  /** Judges a request inside an admitted tunnel: its host has been decided about, its method has not. */
  refuseMethod(attempt: Attempt): Refusal | undefined {
    if (this.#options.rules.permitsMethod(attempt.method ?? "")) return undefined;
    return this.#refuse(attempt, "mode_guard", "method_not_allowed");
  }

  /** Refuses a stand-in for a secret that is on its way to somebody else. */
  refuseStandIn(attempt: Attempt): Refusal {
    return this.#refuse(attempt, "baseline_policy", "stand_in_misdirected");
  }

  /** Refuses what this proxy does not have. */
  refuseUnsupported(attempt: Attempt, reason: string): Refusal {
    return this.#refuse(attempt, "proxy_state", reason);
  }

  /** Resolves the name once; only the checked addresses that it returns are connected to. */
  async #resolve(attempt: Attempt, verdict: { localAllowed: boolean }): Promise<Admission | string> {
    const { resolver, rules, isOwn } = this.#options;
    const addresses = await resolver.resolve(attempt.host);
    // Where local addresses are refused, so is a name that cannot be checked.
    if (addresses.length === 0 && !verdict.localAllowed) return "not_allowed_local";
    for (const { address } of addresses) {
      const reason = rules.judgeAddress(address, verdict);
      if (reason !== undefined) return reason;
      if (isOwn(address, attempt.port)) return "not_allowed_local";
    }
    return { addresses };
  }

  #refuse(
    attempt: Attempt,
    source: Decision["source"],
    reason: string,
    decision: "deny" | "ask" = "deny",
  ): Refusal {
    const refusal: Refusal = { attempt, decision, source, reason, policyOverride: false };
    this.#options.report(refusal);
    return refusal;
  }
}
