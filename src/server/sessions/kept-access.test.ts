import { expect, it } from "vitest";
import { createRights, type Rights } from "../access/rights.ts";
import type { RightsOptions } from "../settings/rights-options.ts";
import { rightsContext } from "../access/rights-context.ts";
import { modeFor } from "./kept-access.ts";

const rightsOf = (options: RightsOptions): Rights => createRights(options, rightsContext({}));
const full = rightsOf({ preset: "full" });
const narrow = rightsOf({ preset: "sandboxed", policy: "read-only" });
const wide = rightsOf({ preset: "sandboxed", policy: { write: ["/srv/work"] } });

const modes = (client: Rights, owner: string) =>
  [full, wide, narrow].map((rights) => modeFor({ principal: "name:ann", rights: client }, owner, { rights }));

it("a client controls its own kept processes if it has the rights that they were started with", () => {
  expect(modes(full, "name:ann")).toEqual(["control", "control", "control"]);
  expect(modes(narrow, "name:ann")).toEqual([undefined, undefined, "control"]);
  expect(modes(rightsOf({ preset: "observe" }), "name:ann")).toEqual([undefined, undefined, undefined]);
});

it("other limits and grants are no other rights to kept processes", () => {
  const changed: RightsOptions = {
    preset: "sandboxed",
    policy: "read-only",
    limits: { maxProcesses: 9 },
    see: ["bob"],
  };
  expect(modes(rightsOf(changed), "name:ann")).toEqual([undefined, undefined, "control"]);
});

it("a grant gives control only of what was started with rights that the client has itself", () => {
  const granted = (options: RightsOptions) => modes(rightsOf({ ...options, control: ["bob"] }), "name:bob");
  expect(granted({ preset: "full" })).toEqual(["control", "control", "control"]);
  expect(granted({ preset: "sandboxed", policy: "read-only" })).toEqual(["follow", "follow", "control"]);
  expect(granted({ preset: "sandboxed", policy: { write: ["/srv/work"] } })).toEqual([
    "follow",
    "control",
    "follow",
  ]);
});

it("a grant of everything does not give back what was started with the wider rights of the same name", () => {
  const everything = rightsOf({ preset: "sandboxed", policy: "read-only", control: ["*"] });
  expect(modes(everything, "name:ann")).toEqual(["follow", "follow", "control"]);
});

it("to see is to follow, whatever a process was started with", () => {
  expect(modes(rightsOf({ preset: "observe", see: ["bob"] }), "name:bob")).toEqual([
    "follow",
    "follow",
    "follow",
  ]);
  expect(modes(rightsOf({ preset: "observe", see: ["cid"] }), "name:bob")).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
