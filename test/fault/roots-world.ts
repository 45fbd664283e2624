import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

export const SECRET = "secret-of-somebody-else";
/** A name that no request spells. */
export const HIDDEN = "hidden-entry";
export const MINE = "mine";
const SKILL = (text: string): string => `---\nname: x\ndescription: ${text}\n---\n`;
const MAX_LINKS = 40;

/** A directory with a root that is served, and things beside it that are not. */
export class RootsWorld {
  readonly base: string;
  readonly root: string;
  readonly outside: string;

  constructor(base: string) {
    this.base = base;
    this.root = join(base, "root");
    this.outside = join(base, "outside");
  }

  /** Resets everything. Each link is in the root and leads to where its name says. */
  build(links: Readonly<Record<string, string>>): void {
    for (const name of readdirSync(this.base))
      rmSync(join(this.base, name), { recursive: true, force: true });
    for (const directory of [
      "root/d/e",
      "root/.codex",
      "outside/d/e",
      "outside/.codex",
      "rootbeside",
      ".codex-plugin",
    ])
      mkdirSync(join(this.base, directory), { recursive: true });
    for (const name of ["root/f", "root/d/g", "root/d/e/f"]) writeFileSync(join(this.base, name), MINE);
    writeFileSync(join(this.root, "d/SKILL.md"), SKILL("of mine"));
    writeFileSync(join(this.root, ".codex/config.toml"), `model = "${MINE}"\n`);
    for (const name of ["f", "d/g", "d/e/f", HIDDEN, `d/${HIDDEN}`])
      writeFileSync(join(this.outside, name), SECRET);
    writeFileSync(join(this.outside, "d/SKILL.md"), SKILL(SECRET));
    writeFileSync(join(this.outside, ".codex/config.toml"), `model = "${SECRET}"\n`);
    writeFileSync(join(this.base, "rootbeside/f"), SECRET);
    writeFileSync(join(this.base, ".codex-plugin/plugin.json"), JSON.stringify({ name: SECRET }));
    symlinkSync("root", join(this.base, "wayin"));
    symlinkSync("../root/d", join(this.outside, "back"));
    for (const [name, target] of Object.entries(links))
      symlinkSync(target.replace("BASE", this.base), join(this.root, name));
  }

  /** All there is beside the root, as far as it could be changed. */
  around(): string[] {
    return describeTree(this.base, { except: this.root });
  }

  /** All there is in the root. */
  inside(): string[] {
    return describeTree(this.root, {});
  }

  /** Inodes of the directories that must not be watched. */
  forbiddenInodes(): Set<string> {
    const above = [this.base];
    while (above.at(-1) !== "/") above.push(dirname(above.at(-1)!));
    const outside = ["outside", "outside/d", "outside/d/e", "outside/.codex", "rootbeside", ".codex-plugin"];
    const paths = [...above, ...outside.map((name) => join(this.base, name))];
    return new Set(paths.map((path) => lstatSync(path).ino.toString(16)));
  }

  contains(path: string): boolean {
    return path === this.root || path.startsWith(`${this.root}/`);
  }
}

/** A line for each entry; what is below `except` is left out, and no link is followed. */
function describeTree(top: string, { except }: { except?: string }): string[] {
  const lines: string[] = [];
  const visit = (path: string): void => {
    const stat = lstatSync(path);
    const contents = stat.isFile()
      ? readFileSync(path, "utf8")
      : stat.isSymbolicLink()
        ? readlinkSync(path)
        : "";
    lines.push([path, stat.ino, stat.mode, stat.isDirectory() ? "" : stat.mtimeMs, contents].join(" "));
    if (stat.isDirectory() && path !== except)
      for (const name of readdirSync(path).sort()) visit(join(path, name));
  };
  visit(top);
  return lines;
}

/** Where a path leads: found with nothing but `lstat` and `readlink`, a name at a time. */
export interface Location {
  readonly path: string;
  readonly exists: boolean;
  /** A name on the way, or the last one, is a link. */
  readonly linked: boolean;
  /** Undecidable: a loop, or a path through a file or a missing directory. */
  readonly astray: boolean;
}

export function locate(path: string, { followLast }: { followLast: boolean }): Location {
  const pending = path.split("/").filter((name) => name !== "");
  let at = "";
  let links = 0;
  let exists = true;
  while (pending.length > 0) {
    const name = pending.shift()!;
    if (name === ".") continue;
    if (name === "..") {
      if (!exists) return { path: at, exists, linked: links > 0, astray: true };
      at = dirname(at || "/").replace(/^\/$/, "");
      continue;
    }
    const next = `${at}/${name}`;
    const stat = exists ? lstatSync(next, { throwIfNoEntry: false }) : undefined;
    if (stat === undefined) exists = false;
    else if (stat.isSymbolicLink() && (followLast || pending.length > 0)) {
      links += 1;
      if (links > MAX_LINKS) return { path: at, exists: false, linked: true, astray: true };
      const target = readlinkSync(next);
      if (target.startsWith("/")) at = "";
      pending.unshift(...target.split("/").filter((part) => part !== ""));
      continue;
    } else if (!stat.isDirectory() && pending.some((part) => part !== ".")) {
      return { path: at, exists: false, linked: links > 0 || stat.isSymbolicLink(), astray: true };
    } else if (stat.isSymbolicLink()) links += 1;
    at = next;
  }
  return { path: at || "/", exists, linked: links > 0, astray: false };
}

/** The meaning of a path of the wire, step by step: dots of the URI first, then those behind its escapes. */
export function meaningOf(text: string): string {
  const resolve = (path: string, isDots: (name: string) => "." | ".." | undefined): string[] => {
    const names: string[] = [];
    for (const name of path.split("/")) {
      const dots = isDots(name);
      if (dots === "..") names.pop();
      else if (dots === undefined) names.push(name);
    }
    return names;
  };
  const plain = (name: string) => (name === "" || name === "." ? "." : name === ".." ? ".." : undefined);
  if (text.startsWith("/")) return `/${resolve(text, plain).join("/")}`;
  const escaped = (name: string) => {
    const decoded = name.replace(/%2e/gi, ".");
    return decoded === "." || decoded === ".." ? decoded : undefined;
  };
  const pathname = resolve(text.slice("file://".length), escaped).join("/");
  return `/${resolve(decodeURIComponent(pathname), plain).join("/")}`;
}
