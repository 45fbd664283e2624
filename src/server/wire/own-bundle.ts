import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The file of a program that the build makes: beside the program, or where the build puts it if this runs from the
 * library or from its source. Undefined if it was not built.
 */
export function findBundle(name: string): string | undefined {
  const here = dirname(
    import.meta.url.startsWith("file:") ? fileURLToPath(import.meta.url) : import.meta.url,
  );
  const found = [here, join(here, "../.."), join(here, "../../../dist")]
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
  return found === undefined ? undefined : realpathSync(found);
}
