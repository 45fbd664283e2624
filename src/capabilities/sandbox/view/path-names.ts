/** The directory of an absolute path. The root is its own. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

export function childOf(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

/** Whether a path is strictly below a directory. */
export function isBelow(path: string, directory: string): boolean {
  return directory === "/" ? path !== "/" : path.startsWith(`${directory}/`);
}
