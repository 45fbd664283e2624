import { expect, it } from "vitest";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import { createRights, FULL_RIGHTS, type Rights } from "../access/rights.ts";
import { rightsContext } from "../access/rights-context.ts";
import { operatorPolicy } from "./operator-policy.ts";
import { Sandboxes, type SandboxesOptions } from "./sandboxes.ts";

const DISABLED: SandboxContext = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };
const PROCESS = { kind: "process", cwd: () => "/", temporaryDirectory: undefined } as const;
const NETWORKED = { write: ["/srv/work"], network: true } as const;
const context = rightsContext({});
const tokenWith = (network: boolean): Rights =>
  createRights({ preset: "sandboxed", policy: { write: ["/srv/work"], network } }, context);

function networksOf(rights: Rights, options: Partial<SandboxesOptions> = {}) {
  const sandboxes = new Sandboxes({ files: { hiddenPaths: [] }, ...options });
  return [undefined, DISABLED].map(
    (sandbox) => sandboxes.policy({ rights }, sandbox, PROCESS, { proxied: true })?.network,
  );
}

it("the network of a confined process is its proxy, whoever confines it", () => {
  expect(networksOf(tokenWith(true))).toEqual(["proxied", "proxied"]);
  const operator = operatorPolicy(NETWORKED, context, "sandbox");
  expect(networksOf(FULL_RIGHTS, { operator })).toEqual(["proxied", "proxied"]);
  expect(networksOf(FULL_RIGHTS)).toEqual([undefined, "proxied"]);
});

it("a process without a network has no proxy either", () => {
  expect(networksOf(tokenWith(false))).toEqual(["restricted", "restricted"]);
});

it("a proxy is no sandbox where one is required", () => {
  expect(() => networksOf(FULL_RIGHTS, { isRequired: true })).toThrow("this server requires a sandbox");
});
