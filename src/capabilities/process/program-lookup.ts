import { statSync } from "node:fs";
import { resolve } from "node:path";

/** Where programs are looked for when the environment has no PATH. */
const DEFAULT_PATH = "/usr/local/bin:/bin:/usr/bin";

/**
 * The files that a program name may stand for, best first, by the child's own PATH and working directory. A name with a slash stands
 * for itself: the child resolves it after it has changed directory.
 */
export function* programCandidates(name: string, path: string | undefined, cwd: string): Generator<string> {
  if (name.includes("/")) {
    yield name;
    return;
  }
  for (const directory of (path ?? DEFAULT_PATH).split(":")) {
    const candidate = resolve(cwd, directory, name);
    if (statSync(candidate, { throwIfNoEntry: false })?.isFile()) yield candidate;
  }
}
