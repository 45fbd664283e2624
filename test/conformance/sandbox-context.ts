import { pathToFileURL } from "node:url";

/** Entries of a policy, as the wire carries them. */
export const readAll = { path: { type: "special", value: { kind: "root" } }, access: "read" };
export const entry = (path: string, access: "read" | "write" | "deny"): object => ({
  path: { type: "path", path: pathToFileURL(path).href },
  access,
});

/** A context with every required member. */
export function restrictedTo(entries: readonly object[], network: "restricted" | "enabled" = "restricted") {
  return {
    permissions: { type: "managed", file_system: { type: "restricted", entries }, network },
    cwd: "file:///",
    workspaceRoots: [],
    windowsSandboxLevel: "disabled",
  };
}

/** Everything can be read, nothing written. */
export const READ_ONLY = restrictedTo([readAll]);
export const READ_ONLY_WITH_NETWORK = restrictedTo([readAll], "enabled");
