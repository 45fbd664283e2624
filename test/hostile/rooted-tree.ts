import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { SeededRandom } from "../fault/seeded-random.ts";

/** Occurs in contents and names that no request contains: a client that gets one has left the roots. */
export const CANARY = "canary-5e1f0c";
/** The size of every file outside, which nothing inside has. */
export const CANARY_SIZE = 48_613;

const NAMES = ["a", "sub", "f", "new", "d"];
const LINKS = ["out", "outfile", "up", "in", "loop", "dangling", "chain", "absolute"];

/** Two roots, the files beside them, and all kinds of links between them. */
export class RootedTree implements Disposable {
  readonly base: string;
  readonly roots: readonly string[];
  readonly outside: string;
  readonly #owner: number;

  constructor(owner: number) {
    this.#owner = owner;
    this.base = realpathSync(mkdtempSync("/var/tmp/exec-server-roots-"));
    this.roots = [join(this.base, "root"), join(this.base, "second")];
    this.outside = join(this.base, "outside");
    for (const place of [...this.roots, this.outside, `${this.roots[0]}-beside`]) this.#fill(place);
    this.#own(this.base);
  }

  #fill(place: string): void {
    const isInside = this.roots.includes(place);
    const contents = isInside ? "inside" : CANARY.padEnd(CANARY_SIZE, "x");
    for (const directory of ["", "a", "a/sub", "d", "skills/s", ".codex-plugin", ".codex"])
      mkdirSync(join(place, directory), { recursive: true });
    for (const file of ["f", "a/f", "a/sub/f", "d/f", ...(isInside ? [] : [CANARY, `a/${CANARY}`])])
      writeFileSync(join(place, file), contents);
    writeFileSync(join(place, "skills/s/SKILL.md"), `---\nname: s\ndescription: d\n---\n${contents}`);
    writeFileSync(
      join(place, ".codex-plugin/plugin.json"),
      JSON.stringify({ name: "p", description: contents }),
    );
    writeFileSync(join(place, ".codex/config.toml"), `model = "${contents}"\n`);
    if (!isInside) return;
    symlinkSync(this.outside, join(place, "out"));
    symlinkSync("../outside/f", join(place, "outfile"));
    symlinkSync("..", join(place, "up"));
    symlinkSync("a/sub", join(place, "in"));
    symlinkSync("loop", join(place, "loop"));
    symlinkSync("../outside/created", join(place, "dangling"));
    symlinkSync("out/a", join(place, "chain"));
    symlinkSync("/", join(place, "absolute"));
    symlinkSync("../../out/a", join(place, "a/sub/out"));
  }

  #own(place: string): void {
    const owner = this.#owner;
    for (const entry of readdirSync(place, { recursive: true, withFileTypes: true }))
      if (!entry.isSymbolicLink()) chownSync(join(entry.parentPath, entry.name), owner, owner);
    chownSync(place, owner, owner);
    chmodSync(place, 0o755);
  }

  /** Puts back what the roots have lost, without touching what is around them. */
  refill(): void {
    for (const root of this.roots) {
      for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true, force: true });
      this.#fill(root);
      this.#own(root);
    }
  }

  /** Everything outside the roots, with times and contents. */
  snapshot(): string[] {
    const lines: string[] = [];
    const visit = (path: string): void => {
      const stat = lstatSync(path, { bigint: true });
      // A root's name belongs to its parent; its contents are its own.
      if (this.roots.includes(path)) {
        lines.push(`${path} ${stat.ino}`);
        return;
      }
      const contents = stat.isFile()
        ? readFileSync(path, "latin1").slice(0, 40)
        : stat.isSymbolicLink()
          ? readlinkSync(path)
          : "";
      lines.push(`${path} ${stat.ino} ${stat.mode} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${contents}`);
      if (stat.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
    };
    visit(this.base);
    return lines;
  }

  /** A path in the wire's spelling that leads somewhere: names, dots, links and slashes, plain or encoded, in any order. */
  somewhere(random: SeededRandom): string {
    const isNative = random.next() < 0.15;
    const start = random.pick([
      ...this.roots,
      ...this.roots,
      this.roots[0] ?? "",
      this.outside,
      `${this.roots[0]}-beside`,
      this.base,
      "/proc/self",
      "/",
    ]);
    const steps = random.next() < 0.85 ? this.#aimed(random) : this.#aimless(random);
    // Slashes and dots are encoded alike all along, or each as it happens.
    const slash = random.pick(["", "/", "%2F", "%2f"]);
    const dots = random.pick(["", "..", "%2e%2E", ".%2e"]);
    let path = start;
    for (const step of steps) {
      const separator = slash || encode(random, random.pick(["/", "/", "//", "/./"]));
      const name = step === ".." && dots !== "" ? dots : encode(random, step);
      path += isNative ? `/${step}` : separator + (slash === "" ? name : name.replaceAll("/", slash));
    }
    if (random.next() < 0.1) path += random.pick(["/", "/.", "/..", "%2F", "%2F.."]);
    if (isNative) return path;
    return `${random.pick(["file://", "file://", "file://", "file:", "FILE://", "file://localhost"])}${path}`;
  }

  /** Out of where it starts, by way of what exists, into what exists. */
  #aimed(random: SeededRandom): string[] {
    const mostly = <T>(likely: readonly T[], others: readonly T[]): T =>
      random.pick(random.next() < 0.8 ? likely : others);
    const detours = Array.from({ length: random.between(0, 2) }, () => [
      mostly(["a", "d", "a/sub"], ["in", "none", "f"]),
      mostly([".."], ["."]),
    ]).map(([name, back]) => (name === "a/sub" && back === ".." ? [name, back, back] : [name, back]));
    const neighbour = mostly(["outside"], ["root", "root-beside", "second", ""]);
    const name = mostly(
      ["f", "a", "new"],
      ["a/f", "a/sub", "", "a/new", "out", "outfile", "dangling", "in/f"],
    );
    return [...detours.flat(), ...mostly([["..", neighbour]], [[]]), name].filter(
      (step) => step !== undefined,
    );
  }

  #aimless(random: SeededRandom): string[] {
    return Array.from({ length: random.between(0, 7) }, () =>
      random.pick([
        random.pick(NAMES),
        random.pick(LINKS),
        "..",
        "..",
        ".",
        "sub/..",
        "../..",
        "..;",
        "...",
        "none",
      ]),
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}

/** Any of the characters as an escape, sometimes twice; what is encoded twice is a name and leads nowhere. */
function encode(random: SeededRandom, text: string): string {
  const mode = random.next();
  if (mode < 0.5) return text;
  const escapeOf = (character: string): string => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
    const escaped = `%${random.pick([hex, hex.toUpperCase()])}`;
    return random.next() < 0.05 ? escaped.replace("%", "%25") : escaped;
  };
  return Array.from(text)
    .map((character) => (random.next() < mode ? escapeOf(character) : character))
    .join("");
}
