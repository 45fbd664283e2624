/** What a sandbox allows, independent of how it is enforced. Paths are absolute, native and contain no dots. */
export interface SandboxPolicy {
  readonly files: "unrestricted" | FileRules;
  readonly network: NetworkMode;
}

/** `proxied`: nothing is reachable except the proxy of the process. */
export type NetworkMode = "restricted" | "enabled" | "proxied";

export interface FileRules {
  /** The most specific rule for a path counts. Of several for the same path, `deny` wins, then `write`. */
  readonly rules: readonly FileRule[];
  /** Whether the directories that programs need to run are readable: libraries, tools, configuration. */
  readonly systemDirectories: boolean;
  /** How deep patterns search. Undefined: without a limit of the policy. */
  readonly globScanMaxDepth?: number;
}

export type FileRule =
  | {
      readonly kind: "path";
      readonly path: string;
      readonly access: "read" | "write" | "deny";
      /** Ignore the rule if the path does not exist. */
      readonly skipIfMissing: boolean;
    }
  | { readonly kind: "glob"; readonly pattern: string; readonly access: "deny" };
