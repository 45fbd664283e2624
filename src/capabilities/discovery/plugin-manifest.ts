import { showPath } from "../files/native-path.ts";
import type { Location } from "../files/location.ts";
import { directoryOf, type TextFile } from "./capability-files.ts";

export type Members = Record<string, unknown>;

/** The name shown to people. Throws if the manifest cannot be used. */
export function displayNameOf(manifest: TextFile): string {
  const members = parseMembers(manifest);
  const shown = members["interface"] ?? {};
  if (!isObject(shown)) throw new Error("interface is not an object");
  const displayName = shown["displayName"] ?? "";
  if (typeof displayName !== "string") throw new Error("displayName is not a string");
  return displayName.trim() || nameOf(manifest, members).trim();
}

/** Prefix for a skill's name: the namespace of the nearest usable manifest above it. */
export function namespaceOf(skill: Location, manifests: readonly TextFile[]): string | undefined {
  const path = skill.uri;
  let nearest: { length: number; name: string } | undefined;
  for (const manifest of manifests) {
    const directory = directoryOf(manifest.location).uri;
    const above = path.startsWith(directory.endsWith("/") ? directory : `${directory}/`);
    if (!above || directory.length <= (nearest?.length ?? 0)) continue;
    try {
      nearest = { length: directory.length, name: nameOf(manifest, parseMembers(manifest)) };
    } catch {
      // Try the next one above.
    }
  }
  return nearest?.name;
}

function nameOf(manifest: TextFile, { name = "" }: Members): string {
  if (typeof name !== "string") throw new Error("name is not a string");
  return name.trim() === "" ? showPath(directoryOf(manifest.location).name) : name;
}

export function parseMembers({ contents }: TextFile): Members {
  const value: unknown = JSON.parse(contents);
  if (isObject(value)) return value;
  throw new Error("not an object");
}

export function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
