import { expect, it } from "vitest";
import { RpcError } from "../../base/errors.ts";
import { silentLogger } from "../../base/logger.ts";
import { checkRights } from "./check-rights.ts";
import { createRights } from "./rights.ts";
import type { RightsOptions } from "../settings/rights-options.ts";

const CONTEXT = { temporaryDirectory: undefined, logger: silentLogger, hiddenPaths: [], fsRoots: [] };
const OPEN = {
  name: "fs/open",
  definition: { right: "readFiles", alsoNeeds: { param: "mode", is: "write", right: "writeFiles" } },
} as const;
const START = { name: "process/start", definition: { right: "start" } } as const;

/** Undefined if nothing is refused. */
function refusalOf(
  options: RightsOptions,
  request: typeof OPEN | typeof START,
  params: object,
  name?: string,
): unknown {
  const credential = {
    principal: "name:ann",
    rights: createRights(options, CONTEXT),
    ...(name === undefined ? {} : { name }),
  };
  try {
    checkRights(credential, { ...request, params });
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ rpcCode: -32600, data: { code: "PERMISSION_DENIED" } });
    return (error as RpcError).message;
  }
}

const FULL: RightsOptions = { preset: "full" };
const FILES: RightsOptions = { preset: "files", roots: ["/srv"] };
const READ_ONLY: RightsOptions = { ...FILES, readOnly: true };
const OBSERVE: RightsOptions = { preset: "observe" };

it.each([
  [FULL, START, {}],
  [FULL, OPEN, { mode: "write" }],
  [FILES, OPEN, { mode: "write" }],
  [READ_ONLY, OPEN, { mode: "read" }],
  [READ_ONLY, OPEN, {}],
])("with %j a client may use %j with %j", (options, request, params) => {
  expect(refusalOf(options, request, params)).toBeUndefined();
});

it("what a client may not do is refused with the right that is missing, and with the name of its token", () => {
  expect(refusalOf(FILES, START, {})).toBe(
    "this connection may not use process/start: its preset files does not have the right start",
  );
  expect(refusalOf(OBSERVE, OPEN, { mode: "read" }, "ann")).toBe(
    "the token ann may not use fs/open: its preset observe does not have the right readFiles",
  );
  expect(refusalOf(READ_ONLY, OPEN, { mode: "write" }, "ann")).toBe(
    "the token ann may not use fs/open with mode write: its preset files does not have the right writeFiles",
  );
});
