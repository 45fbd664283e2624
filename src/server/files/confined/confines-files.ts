import {
  type FileRules,
  ruleSets,
  type SandboxPolicy,
} from "../../../capabilities/sandbox/policy/sandbox-policy.ts";

/** False for a policy that leaves everything writable, so that there is nothing to enforce. */
export function confinesFiles(policy: SandboxPolicy): boolean {
  return !ruleSets(policy).every(({ rules }) => coversDisk(rules, ["write"]));
}

/** Whether every path has one of these accesses. */
export function coversDisk(rules: FileRules["rules"], accesses: readonly string[]): boolean {
  return (
    rules.every(({ kind, access }) => kind === "path" && accesses.includes(access)) &&
    rules.some((rule) => rule.kind === "path" && rule.path === "/")
  );
}
