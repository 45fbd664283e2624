/** The part of a path after a prefix, decoded; undefined if it is another path, or cannot be decoded. */
export function below(prefix: string, whole: string): string | undefined {
  if (!whole.startsWith(`${prefix}/`)) return undefined;
  try {
    return whole
      .slice(prefix.length + 1)
      .split("/")
      .map((part) => decodeURIComponent(part))
      .join("/");
  } catch {
    return undefined;
  }
}

/** The path of something below a prefix. Slashes in its name stay slashes. */
export function pathTo(prefix: string, name: string): string {
  const parts = name.split("/").map((part) => encodeURIComponent(part));
  return `${prefix}/${parts.join("/")}`;
}
