import { CapabilityError } from "../../../base/errors.ts";
/**
 * The permissions of a sandbox, independent of how they are enforced. Paths are absolute, native and contain no dots.
 */
export interface SandboxPolicy {
  readonly files: "unrestricted" | FileRules;
  /** Further sets of rules. A path has the weakest access that any set gives it. */
  readonly within?: readonly FileRules[];
  readonly network: NetworkMode;
}

/** `proxied`: nothing is reachable except the proxy of the process. */
export type NetworkMode = "restricted" | "enabled" | "proxied";

export interface FileRules {
  /** The most specific rule for a path counts. Of several for the same path, `deny` wins, then `write`. */
  readonly rules: readonly FileRule[];
  /** Whether the directories that programs need to run are readable: libraries, tools, configuration. */
  readonly systemDirectories: boolean;
  /** Maximum depth of pattern searches. Undefined: the policy sets no limit. */
  readonly globScanMaxDepth?: number;
}

export type FileRule =
  | {
      readonly kind: "path";
      readonly path: string;
      readonly access: FileAccess;
      /** The links that were followed when the path was settled, for good: another one on the way is refused. */
      readonly followed?: readonly string[];
    }
  /** Hides what matches when the sandbox starts. */
  | { readonly kind: "glob"; readonly pattern: string; readonly access: "deny" };

export type FileAccess = "read" | "write" | "deny";

/** All sets of rules that apply. None: everything is allowed. */
export function ruleSets({ files, within = [] }: SandboxPolicy): readonly FileRules[] {
  return files === "unrestricted" ? within : [files, ...within];
}

/** The operator's policy, narrowed by a client's: of every path, and of the network, the weaker access. */
export function narrow(operator: SandboxPolicy, client: SandboxPolicy | undefined): SandboxPolicy {
  if (client === undefined) return operator;
  const [files = "unrestricted", ...within] = [...ruleSets(operator), ...ruleSets(client)];
  return { files, within, network: weakerNetwork(operator.network, client.network) };
}

const NETWORK_STRENGTH: Record<NetworkMode, number> = { restricted: 0, proxied: 1, enabled: 2 };

function weakerNetwork(one: NetworkMode, other: NetworkMode): NetworkMode {
  return NETWORK_STRENGTH[one] <= NETWORK_STRENGTH[other] ? one : other;
}

/** A policy that cannot be enforced as it is. Nothing may run instead. */
export class SandboxRefusal extends CapabilityError {
  constructor(message: string) {
    super("UNSUPPORTED", message);
  }
}
