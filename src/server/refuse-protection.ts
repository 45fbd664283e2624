import { invalidParams } from "./invalid-params.ts";
import type { ProcessStart } from "../protocol/process.ts";

/**
 * A request that asks for protection must not run without it, and none is implemented yet. Profiles that leave
 * protection to the caller, or disable it, ask for nothing.
 */
export function refuseProtection({ sandbox, enforceManagedNetwork, networkProxy }: Protection): void {
  const confined = sandbox?.permissions.type === "managed";
  if (confined || enforceManagedNetwork === true || (networkProxy !== undefined && networkProxy !== null))
    throw invalidParams("sandbox intent cannot be enforced on this executor");
}

type Protection = {
  [M in "sandbox" | "enforceManagedNetwork" | "networkProxy"]?: ProcessStart[M] | undefined;
};
