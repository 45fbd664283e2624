import { closeSync, constants, fchmodSync, ftruncateSync, openSync } from "node:fs";
import { invalidInput } from "./file-error.ts";
import type { Location } from "./location.ts";
import { NEW_FILE_MODE, openToWrite, WRITE_FLAGS } from "./writing.ts";

const PRIVATE_MODE = 0o600;
const FLAGS = WRITE_FLAGS | constants.O_NOFOLLOW;

/**
 * Opens a file that grows to its full length over several connections, and keeps its first `length` bytes. The name of
 * such a file can be guessed, so whatever another user may have put in its place is refused: a link, a file of theirs,
 * and one with a second name.
 */
export function openPartFile(
  location: Location,
  { length, isPrivate }: { length: number; isPrivate: boolean },
): number {
  const mode = isPrivate ? PRIVATE_MODE : NEW_FILE_MODE;
  const { fd, stat } = location.onEntry((entry) =>
    openToWrite(location, entry, (path) => openSync(path, FLAGS, mode)),
  );
  try {
    if (!stat.isFile() || stat.nlink !== 1 || stat.uid !== process.geteuid?.())
      throw invalidInput(`\`${location.shown}\` is not a file of this user's alone, so it is not continued`);
    if (stat.size < length)
      throw invalidInput(`\`${location.shown}\` has ${stat.size} bytes, and ${length} were to be kept`);
    if (isPrivate) fchmodSync(fd, PRIVATE_MODE);
    ftruncateSync(fd, length);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
