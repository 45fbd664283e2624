import type { SpecKind } from "../protocol/process.ts";
import { limitError } from "./limit-error.ts";
import type { ServerLimits } from "./limits.ts";

/** Who may start what is the configuration's business; whether a request was approved is the caller's word. */
export function checkSpecKind(
  kind: SpecKind | null | undefined,
  { allowDirectExec, allowPreparedExec }: ServerLimits,
): void {
  if (kind === "prepared" && !allowPreparedExec)
    throw limitError("allowPreparedExec", false, "this server starts no prepared processes");
  if (kind !== "prepared" && !allowDirectExec)
    throw limitError("allowDirectExec", false, "this server starts only prepared processes");
}
