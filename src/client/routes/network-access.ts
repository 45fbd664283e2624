import { UsageError } from "../../base/errors.ts";
import { checkDuration, MAX_TIMER_MS } from "../../base/duration.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import type { NetworkDecision, NetworkProtocol } from "../../protocol/network.ts";
import type { Params } from "../../protocol/index.ts";
import { unsupported } from "../calls/unsupported.ts";

/** Default time for a decision. */
const DEFAULT_DECISION_MS = 60_000;

/** A host that a process wants to reach, and that its lists do not name. */
export interface NetworkRequest {
  readonly processId: string;
  readonly protocol: NetworkProtocol;
  readonly host: string;
  readonly port: number;
}

/** Decides about a host. Nothing, an error, or no decision in time means no. */
export type DecideNetwork = (
  request: NetworkRequest,
) => NetworkDecision | undefined | Promise<NetworkDecision | undefined>;

/**
 * What a process may reach through its proxy. Hosts are names or addresses; `*.example.com` stands for everything below
 * a name, `**.example.com` for the name as well, and `*` for everything.
 */
export interface NetworkAccess {
  /** Default: nothing. */
  readonly allow?: readonly string[];
  /** Wins over `allow`. */
  readonly deny?: readonly string[];
  /** Only requests that change nothing: GET, HEAD and OPTIONS of plain HTTP. Default: false. */
  readonly readOnly?: boolean;
  /** Also addresses that are not on the public internet. Default: false. */
  readonly local?: boolean;
  /** Decides about hosts that neither list names. */
  readonly decide?: DecideNetwork;
  /** Time for a decision. Default: 60 s. */
  readonly decisionTimeoutMs?: number;
}

/**
 * The parameters of a start that give the process a proxy. In a sandbox, its own or the server's, it can reach nothing
 * else; without one the proxy is an offer, in variables such as HTTP_PROXY.
 */
export function networkParams(
  { environment }: { readonly environment: EnvironmentInfo | undefined },
  { allow = [], deny = [], readOnly = false, local = false, decide, decisionTimeoutMs }: NetworkAccess,
): Pick<Params<"process/start">, "networkProxy" | "enforceManagedNetwork"> {
  if (environment?.capabilities?.networkProxyLaunch !== true) throw unsupported("network in process/start");
  const timeoutMs = checkDuration("decisionTimeoutMs", decisionTimeoutMs ?? DEFAULT_DECISION_MS);
  if (timeoutMs === 0) throw new UsageError("decisionTimeoutMs must be greater than 0");
  return {
    networkProxy: {
      proxy: {
        enabled: true,
        enableSocks5: true,
        enableSocks5Udp: false,
        allowUpstreamProxy: false,
        dangerouslyAllowAllUnixSockets: false,
        mode: readOnly ? "limited" : "full",
        allowLocalBinding: local,
        domains: Object.fromEntries([
          ...allow.map((pattern) => [pattern, "allow"] as const),
          ...deny.map((pattern) => [pattern, "deny"] as const),
        ]),
      },
      ...(decide === undefined
        ? {}
        : { policyDecisionTimeoutMs: Math.ceil(Math.min(timeoutMs, MAX_TIMER_MS)) }),
    },
    enforceManagedNetwork: true,
  };
}
