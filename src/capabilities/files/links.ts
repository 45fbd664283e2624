import { readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { invalidInput } from "./file-error.ts";
import { splitPath, textOrBytes } from "./native-path.ts";
import type { Location } from "./location.ts";
import { temporaryName } from "./temporary-name.ts";
import { refuseEntry } from "./writing.ts";

/** The text of a link. */
export function readLink(location: Location): string {
  const target = textOrBytes(location.onEntry((entry) => readlinkSync(entry, { encoding: "buffer" })));
  if (typeof target === "string") return target;
  throw new CapabilityError("UNSUPPORTED", "the target of the link is not UTF-8");
}

/**
 * Creates a link to any text that the system accepts. With `replace` it replaces a file or a link, but not a directory.
 */
export function createLink(location: Location, target: string, { replace }: { replace: boolean }): void {
  if (target.includes("\0")) throw invalidInput("a link's target cannot contain a NUL");
  if (!replace) {
    location.onEntry((entry) => {
      refuseEntry(location, entry);
      symlinkSync(target, entry);
    });
    return;
  }
  location.checkChange();
  location.onEntry((entry) => {
    refuseEntry(location, entry);
    // A rename replaces atomically, so the path never disappears.
    const beside = temporaryName(splitPath(entry).directory);
    symlinkSync(target, beside);
    try {
      renameSync(beside, entry);
    } catch (error) {
      unlinkSync(beside);
      throw error;
    }
  });
}
