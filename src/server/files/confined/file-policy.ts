import { CapabilityError } from "../../../base/errors.ts";
import type { FileView } from "../../../capabilities/sandbox/view/file-view.ts";
import {
  type FileRules,
  ruleSets,
  type SandboxPolicy,
  SandboxRefusal,
} from "../../../capabilities/sandbox/policy/sandbox-policy.ts";
import { isHidden, type ServerFiles } from "../../../capabilities/sandbox/view/server-files.ts";
import { viewInTurns } from "../../../capabilities/sandbox/view/view-of.ts";
import type { SandboxContext } from "../../../protocol/sandbox.ts";
import type { Rights } from "../../access/rights.ts";
import { countPaths } from "../../sandbox/sandbox-context.ts";

/** Contexts that are remembered, and their size: clients repeat theirs with every call. */
const MAX_RECENT = 32;
const MAX_CONTEXT_PATHS = 1000;
const MAX_CONTEXT_LENGTH = 16 * 1024;

type PolicyOf<Policy> = (
  context: SandboxContext | null | undefined,
  client: { readonly rights: Rights },
) => Policy | undefined;

/** Turns the context of a client's request into its policy; undefined if the request is not confined. */
export function filePolicies(policyOf: PolicyOf<SandboxPolicy>, files: ServerFiles): PolicyOf<FilePolicy> {
  const recentOf = new WeakMap<Rights, Map<string, FilePolicy | undefined>>();
  return (context, client) => {
    const create = (): FilePolicy | undefined => filePolicy(policyOf(context, client), files);
    if (context === null || context === undefined || countPaths(context) > MAX_CONTEXT_PATHS) return create();
    const text = JSON.stringify(context);
    if (text.length > MAX_CONTEXT_LENGTH) return create();
    const recent = recentOf.get(client.rights) ?? new Map<string, FilePolicy | undefined>();
    recentOf.set(client.rights, recent);
    if (recent.has(text)) return recent.get(text);
    const policy = create();
    if (recent.size === MAX_RECENT) recent.clear();
    recent.set(text, policy);
    return policy;
  };
}

/** Undefined if nothing needs to be enforced. */
export function filePolicy(policy: SandboxPolicy | undefined, files: ServerFiles): FilePolicy | undefined {
  return policy !== undefined && confinesFiles(policy) ? new FilePolicy(policy, files) : undefined;
}

/** A policy as files need it. */
export class FilePolicy {
  readonly #policy: SandboxPolicy;
  readonly #files: ServerFiles;
  #key: string | undefined;

  /** Policies never show the server's `files`. */
  constructor(policy: SandboxPolicy, files: ServerFiles) {
    this.#policy = policy;
    this.#files = files;
  }

  /** Equal for equal policies. */
  get key(): string {
    this.#key ??= JSON.stringify(this.#policy);
    return this.#key;
  }

  /** True if every path of the disk can be read, except for masked ones. */
  get readsDisk(): boolean {
    return ruleSets(this.#policy).every(({ rules }) => coversDisk(rules, ["read", "write"]));
  }

  /** The current view. */
  async view(): Promise<FileView> {
    try {
      return await viewInTurns(this.#policy, { files: this.#files });
    } catch (error) {
      if (!(error instanceof SandboxRefusal)) throw error;
      throw new CapabilityError("OS_ERROR", `fs sandbox helper failed: ${error.message}`, { cause: error });
    }
  }

  /** False for what no policy shows. */
  isUnmasked(path: string): boolean {
    return !isHidden(path, this.#files);
  }
}

/** False for a policy that leaves everything writable, so that nothing needs to be enforced. */
function confinesFiles(policy: SandboxPolicy): boolean {
  return !ruleSets(policy).every(({ rules }) => coversDisk(rules, ["write"]));
}

/** Whether every path has one of these accesses. */
function coversDisk(rules: FileRules["rules"], accesses: readonly string[]): boolean {
  return (
    rules.every(({ kind, access }) => kind === "path" && accesses.includes(access)) &&
    rules.some((rule) => rule.kind === "path" && rule.path === "/")
  );
}
