import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CapabilityError } from "../../base/errors.ts";

/**
 * The file of a program that the build makes: beside the program, or where the build puts it if this runs from the
 * library or from its source. Undefined if it was not built.
 */
export function findBundle(name: string): string | undefined {
  const own = dirname(import.meta.url.startsWith("file:") ? fileURLToPath(import.meta.url) : import.meta.url);
  const bundle = [own, join(own, "../.."), join(own, "../../../dist")]
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
  return bundle && realpathSync(bundle);
}

/** Throws a CapabilityError if it was not built; `consequence` describes in it what is unavailable then. */
export function requireBundle(name: string, consequence: string): string {
  const bundle = findBundle(name);
  if (bundle !== undefined) return bundle;
  throw new CapabilityError("UNSUPPORTED", `${consequence}: ${name} is missing; build the package`);
}
