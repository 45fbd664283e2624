import { UsageError } from "../../base/errors.ts";

/** Throws unless it is a valid set of permission bits. */
export function checkMode(mode: number): void {
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777)
    throw new UsageError(`mode must be a whole number from 0 to 0o7777, not ${String(mode)}`);
}
