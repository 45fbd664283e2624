import type { ProcessStart } from "../protocol/process.ts";
import { invalidParams } from "./invalid-params.ts";

// A request that asks for protection must not run without it.

/** In a sandbox, a managed network is the proxy that comes with it. */
export function refuseManagedNetwork({ enforceManagedNetwork, networkProxy, sandbox }: ProcessStart): void {
  const needsProxy = enforceManagedNetwork === true && sandbox !== undefined && sandbox !== null;
  if (needsProxy && (networkProxy === undefined || networkProxy === null))
    throw invalidParams("enforceManagedNetwork needs a networkProxy: this server manages no other network");
}

/** Profiles that leave protection to the caller, or disable it, ask for nothing. */
export function refuseSandbox(sandbox: ProcessStart["sandbox"]): void {
  if (sandbox?.permissions.type === "managed") throw refusal();
}

function refusal(): Error {
  return invalidParams("sandbox intent cannot be enforced on this executor");
}
