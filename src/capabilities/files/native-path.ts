import { isUtf8 } from "node:buffer";

/** An absolute path: text, or bytes if it is not UTF-8. Node's file functions accept both. */
export type NativePath = string | Buffer;

export function toNativePath(path: string | Uint8Array): NativePath {
  return typeof path === "string" ? path : Buffer.from(path);
}

export function joinPath(directory: NativePath, name: NativePath): NativePath {
  if (typeof directory === "string" && typeof name === "string")
    return directory === "/" ? `/${name}` : `${directory}/${name}`;
  return Buffer.concat([Buffer.from(directory), Buffer.from("/"), Buffer.from(name)]);
}

/** The parent directory of a path, and its name there. The root has the name `.`. */
export function splitPath(path: NativePath): { directory: NativePath; name: NativePath } {
  if (typeof path === "string") {
    const slash = path.lastIndexOf("/");
    return { directory: path.slice(0, slash) || "/", name: path.slice(slash + 1) || "." };
  }
  const slash = path.lastIndexOf("/");
  return { directory: slash === 0 ? "/" : path.subarray(0, slash), name: path.subarray(slash + 1) };
}

export function pathComponents(path: NativePath): NativePath[] {
  if (typeof path === "string") return path.split("/").filter((name) => name !== "");
  const components: Buffer[] = [];
  for (let start = 0; start < path.length; ) {
    const slash = path.indexOf("/", start);
    const end = slash < 0 ? path.length : slash;
    if (end > start) components.push(path.subarray(start, end));
    start = end + 1;
  }
  return components;
}

/** Comparable text for a path, whether or not it is UTF-8. */
export function pathKey(path: NativePath): string {
  return Buffer.from(path).toString("latin1");
}

/** Text for messages. */
export function showPath(path: NativePath): string {
  return typeof path === "string" ? path : path.toString("utf8");
}

/** Text if the bytes are UTF-8. */
export function textOrBytes(path: Buffer): NativePath {
  return isUtf8(path) ? path.toString("utf8") : path;
}
