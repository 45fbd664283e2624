import { expect, it } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { createRights } from "../access/rights.ts";
import type { RightsOptions } from "../settings/rights-options.ts";
import { listableScopes } from "./listable-scopes.ts";

const CONTEXT = { temporaryDirectory: undefined, logger: silentLogger, hiddenPaths: [], fsRoots: [] };
const OWN = ["session", "kept"];
const ALL = ["session", "kept", "server"];

it.each<[RightsOptions, string[], string[]]>([
  [{ preset: "full" }, ALL, OWN],
  [{ preset: "observe" }, ALL, OWN],
  [{ preset: "sandboxed", policy: "read-only" }, OWN, OWN],
  [{ preset: "files", roots: ["/srv"] }, [], []],
])("with %j one sees %j if the server shows all processes, and %j otherwise", (options, shown, hidden) => {
  const rights = createRights(options, CONTEXT);
  expect([listableScopes(rights, true), listableScopes(rights, false)]).toEqual([shown, hidden]);
});
