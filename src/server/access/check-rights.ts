import { RpcError } from "../../base/errors.ts";
import { type Right, RpcCode } from "../../protocol/index.ts";
import type { CheckedRequest } from "../../rpc/router.ts";
import type { Credential } from "./credential.ts";

/** The single check of rights: throws unless a client has the rights that the wire table requires. */
export function checkRights(
  { name, rights }: Credential,
  { name: method, definition: { right, alsoNeeds }, params }: CheckedRequest,
): void {
  if (rights.preset === "full") return;
  if (!rights.allows(right)) throw denied(method, right);
  if (alsoNeeds === undefined || rights.allows(alsoNeeds.right)) return;
  const { param, is } = alsoNeeds;
  if ((params as Readonly<Record<string, unknown>>)[param] === is)
    throw denied(`${method} with ${param} ${is}`, alsoNeeds.right);

  function denied(what: string, missing: Right): RpcError {
    return permissionDenied(
      `${name === undefined ? "this connection" : `the token ${name}`} may not use ${what}: ` +
        `its preset ${rights.preset} does not have the right ${missing}`,
    );
  }
}

export function permissionDenied(message: string): RpcError {
  return new RpcError(RpcCode.invalidRequest, message, {
    code: "PERMISSION_DENIED",
    data: { code: "PERMISSION_DENIED" },
  });
}
