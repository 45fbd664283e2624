import { CapabilityError } from "../../../base/errors.ts";
import type { FileView } from "../../../capabilities/sandbox/view/file-view.ts";
import {
  ruleSets,
  type SandboxPolicy,
  SandboxRefusal,
} from "../../../capabilities/sandbox/policy/sandbox-policy.ts";
import { isHidden, type ServerFiles } from "../../../capabilities/sandbox/view/server-files.ts";
import { viewInTurns } from "../../../capabilities/sandbox/view/view-of.ts";
import type { SandboxContext } from "../../../protocol/sandbox.ts";
import type { Rights } from "../../access/rights.ts";
import { countPaths } from "../../sandbox/sandbox-context.ts";
import { confinesFiles, coversDisk } from "./confines-files.ts";

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
    const find = (): FilePolicy | undefined => filePolicy(policyOf(context, client), files);
    if (context === null || context === undefined || countPaths(context) > MAX_CONTEXT_PATHS) return find();
    const text = JSON.stringify(context);
    if (text.length > MAX_CONTEXT_LENGTH) return find();
    const recent = recentOf.get(client.rights) ?? new Map<string, FilePolicy | undefined>();
    recentOf.set(client.rights, recent);
    if (recent.has(text)) return recent.get(text);
    const found = find();
    if (recent.size === MAX_RECENT) recent.clear();
    recent.set(text, found);
    return found;
  };
}

/** Undefined if there is nothing to enforce. */
export function filePolicy(policy: SandboxPolicy | undefined, files: ServerFiles): FilePolicy | undefined {
  return policy !== undefined && confinesFiles(policy) ? new FilePolicy(policy, files) : undefined;
}

/** A policy as files need it. */
export class FilePolicy {
  readonly #policy: SandboxPolicy;
  readonly #files: ServerFiles;
  #key: string | undefined;

  /** No policy shows the `files` of the server. */
  constructor(policy: SandboxPolicy, files: ServerFiles) {
    this.#policy = policy;
    this.#files = files;
  }

  /** Equal for equal policies. */
  get key(): string {
    this.#key ??= JSON.stringify(this.#policy);
    return this.#key;
  }

  /** True if every path of the disk can be read, except what is masked. */
  get readsDisk(): boolean {
    return ruleSets(this.#policy).every(({ rules }) => coversDisk(rules, ["read", "write"]));
  }

  /** What it gives at this moment. */
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
