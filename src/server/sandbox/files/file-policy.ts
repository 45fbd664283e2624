import { type Stats, statSync } from "node:fs";
import { CapabilityError } from "../../../base/errors.ts";
import type { FileView } from "../../../capabilities/sandbox/view/file-view.ts";
import {
  type FileRules,
  ruleSets,
  type SandboxPolicy,
} from "../../../capabilities/sandbox/policy/sandbox-policy.ts";
import { SandboxRefusal } from "../../../capabilities/sandbox/policy/sandbox-refusal.ts";
import { viewInTurns } from "../../../capabilities/sandbox/view/view-of.ts";
import type { SandboxContext } from "../../../protocol/sandbox.ts";

/** Contexts that are remembered, and their length: clients repeat theirs with every call. */
const MAX_RECENT = 32;
const MAX_CONTEXT_LENGTH = 16 * 1024;

/** Turns the context of a request into its policy; undefined if the request is not confined. */
export function filePolicies(
  policyOf: (context: SandboxContext | null | undefined) => SandboxPolicy | undefined,
  masked: readonly string[],
): (context: SandboxContext | null | undefined) => FilePolicy | undefined {
  const recent = new Map<string, FilePolicy | undefined>();
  const find = (context: SandboxContext | null | undefined): FilePolicy | undefined => {
    const policy = policyOf(context);
    return policy !== undefined && confinesFiles(policy) ? new FilePolicy(policy, masked) : undefined;
  };
  return (context) => {
    if (context === null || context === undefined) return find(context);
    const text = JSON.stringify(context);
    if (text.length > MAX_CONTEXT_LENGTH) return find(context);
    if (recent.has(text)) return recent.get(text);
    const found = find(context);
    if (recent.size === MAX_RECENT) recent.clear();
    recent.set(text, found);
    return found;
  };
}

/** A policy as files need it. */
export class FilePolicy {
  readonly #policy: SandboxPolicy;
  readonly #masked: readonly string[];
  #key: string | undefined;

  /** `masked` are paths that no policy shows. */
  constructor(policy: SandboxPolicy, masked: readonly string[]) {
    this.#policy = policy;
    this.#masked = masked;
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
      return await viewInTurns(this.#policy, { masked: this.#masked });
    } catch (error) {
      if (!(error instanceof SandboxRefusal)) throw error;
      throw new CapabilityError("OS_ERROR", `fs sandbox helper failed: ${error.message}`, { cause: error });
    }
  }

  /** False for a masked file, and for every file if a masked directory may contain it. */
  isUnmasked({ dev, ino }: Stats): boolean {
    return this.#masked.every((path) => {
      const masked = statSync(path, { throwIfNoEntry: false });
      return masked === undefined || (!masked.isDirectory() && (masked.dev !== dev || masked.ino !== ino));
    });
  }
}

/** Whether a policy leaves everything writable, so that there is nothing to enforce. */
function confinesFiles(policy: SandboxPolicy): boolean {
  return !ruleSets(policy).every(({ rules }) => coversDisk(rules, ["write"]));
}

function coversDisk(rules: FileRules["rules"], accesses: readonly string[]): boolean {
  return (
    rules.every(({ kind, access }) => kind === "path" && accesses.includes(access)) &&
    rules.some((rule) => rule.kind === "path" && rule.path === "/")
  );
}
