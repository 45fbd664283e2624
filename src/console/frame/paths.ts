import { below, pathTo } from "./addresses.ts";

/** The address of a file or directory in the page. */
export function addressOf(path: string): string {
  return pathTo("/f", path.slice(1));
}

/** The file or directory that an address names; undefined for the address of the view itself. */
export function pathAt(address: string): string | undefined {
  const rest = below("/f", address);
  return rest === undefined ? undefined : resolvePath("/", rest);
}

/** An absolute path from typed text, which may be relative to a directory or start at home (`~`). */
export function resolvePath(directory: string, typed: string, home = "/"): string {
  const expanded = typed === "~" || typed.startsWith("~/") ? `${home}/${typed.slice(1)}` : typed;
  const whole = expanded.startsWith("/") ? expanded : `${directory}/${expanded}`;
  const names: string[] = [];
  for (const name of whole.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

export function joinPath(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

/** The parent directory of a path; the root's is the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The directories on the way to a path, from the root, and the path itself. */
export function stepsTo(path: string): readonly { readonly name: string; readonly path: string }[] {
  const names = path === "/" ? [] : path.slice(1).split("/");
  return [
    { name: "/", path: "/" },
    ...names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join("/")}` })),
  ];
}

/** Why a text cannot be the name of an entry; undefined if it can. */
export function faultOfName(name: string): string | undefined {
  if (name === "") return "Enter a name.";
  if (name === "." || name === "..") return `${name} is reserved.`;
  if (name.includes("/")) return "A name cannot contain a slash.";
  if (name.includes("\0")) return "A name cannot contain a NUL byte.";
  return new TextEncoder().encode(name).length > 255 ? "A name has at most 255 bytes." : undefined;
}

/** The path of a directory that the server gives as a URI; undefined if it is not one. */
export function pathFromUri(uri: string | null | undefined): string | undefined {
  if (uri?.startsWith("file:///") !== true) return undefined;
  try {
    return resolvePath("/", decodeURIComponent(uri.slice("file://".length)));
  } catch {
    return undefined;
  }
}

/** The URI of a path, as the server takes it. */
export function uriOf(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Whether text stands for exactly one path: a name that is not UTF-8 is shown with replacement characters. */
export function isExact(name: string): boolean {
  return !/[\ufffd\p{Cs}]/u.test(name);
}
