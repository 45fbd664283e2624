import type { SpecKind } from "../../protocol/process.ts";
import { limitError } from "../settings/limit-error.ts";
import type { ServerLimits } from "../settings/limits.ts";

/** The configuration decides which kinds may start; whether a request was approved is the caller's claim. */
export function checkSpecKind(
  kind: SpecKind | null | undefined,
  { allowDirectExec, allowPreparedExec }: ServerLimits,
): void {
  if (kind === "prepared" && !allowPreparedExec)
    throw limitError("allowPreparedExec", false, "this server starts no prepared processes");
  if (kind !== "prepared" && !allowDirectExec)
    throw limitError("allowDirectExec", false, "this server starts only prepared processes");
}
