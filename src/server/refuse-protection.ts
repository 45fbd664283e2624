import type { ProcessStart } from "../protocol/process.ts";
import { invalidParams } from "./invalid-params.ts";

// A request that asks for protection must not run without it.

export function refuseManagedNetwork({ enforceManagedNetwork, networkProxy }: ProcessStart): void {
  if (enforceManagedNetwork === true || (networkProxy !== undefined && networkProxy !== null))
    throw refusal();
}

/** Profiles that leave protection to the caller, or disable it, ask for nothing. */
export function refuseSandbox(sandbox: ProcessStart["sandbox"]): void {
  if (sandbox?.permissions.type === "managed") throw refusal();
}

function refusal(): Error {
  return invalidParams("sandbox intent cannot be enforced on this executor");
}
