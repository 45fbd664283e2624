import { readFile, stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import ignore, { type Ignore } from "ignore";
import type { TreeEntry } from "../../../client/files/trees.ts";
import { type CopyLocation, isMissing, locationFailure } from "../copying/copy-location.ts";

/** A larger file was not written by hand. */
const MAX_PATTERNS_BYTES = 1024 * 1024;
const IGNORE_FILE = ".gitignore";

export interface ExclusionOptions {
  /** In the syntax of .gitignore. */
  readonly patterns: readonly string[];
  /** Whether to use the source's .gitignore files. */
  readonly gitignore: boolean;
}

/** Decides what is left alone, on both sides. Pattern files are read once, so it serves one pass. */
export class Exclusion {
  readonly #source: CopyLocation;
  readonly #gitignore: boolean;
  readonly #patterns: Ignore;
  readonly #files = new Map<string, Promise<Ignore | undefined>>();

  /** Undefined if nothing is excluded. */
  static of(source: CopyLocation, options: ExclusionOptions): Exclusion | undefined {
    return options.patterns.length === 0 && !options.gitignore ? undefined : new Exclusion(source, options);
  }

  private constructor(source: CopyLocation, { patterns, gitignore }: ExclusionOptions) {
    this.#source = source;
    this.#gitignore = gitignore;
    this.#patterns = newIgnore().add([...patterns]);
  }

  /** Whether an entry takes part. Its directories must take part. */
  async takes({ path, kind }: Pick<TreeEntry, "path" | "kind">): Promise<boolean> {
    const shown = kind === "directory" ? `${path}/` : path;
    const named = this.#patterns.test(shown);
    if (named.ignored || named.unignored) return named.unignored;
    if (!this.#gitignore) return true;
    if (basename(path) === ".git") return false;
    // The nearest file that has something to say decides.
    const names = path.split("/");
    for (let depth = names.length - 1; depth >= 0; depth -= 1) {
      const rules = await this.#rulesIn(names.slice(0, depth).join("/"));
      const { ignored = false, unignored = false } =
        rules?.test(shown.split("/").slice(depth).join("/")) ?? {};
      if (ignored || unignored) return unignored;
    }
    return true;
  }

  /** The same for a bare path, whose directories may be excluded and whose kind is unknown. */
  async mayTake(path: string): Promise<boolean> {
    const names = path.split("/");
    for (let depth = 1; depth < names.length; depth += 1)
      if (!(await this.takes({ path: names.slice(0, depth).join("/"), kind: "directory" }))) return false;
    return (
      path === "" ||
      (await this.takes({ path, kind: "file" })) ||
      (await this.takes({ path, kind: "directory" }))
    );
  }

  /** Whether changing a path may change the patterns. */
  isPatternFile(path: string): boolean {
    return this.#gitignore && posix.basename(path) === IGNORE_FILE;
  }

  #rulesIn(directory: string): Promise<Ignore | undefined> {
    const known = this.#files.get(directory) ?? this.#readRules(directory);
    this.#files.set(directory, known);
    return known;
  }

  async #readRules(directory: string): Promise<Ignore | undefined> {
    const { files, path, prefix } = this.#source;
    const file =
      files === undefined ? join(path, directory, IGNORE_FILE) : posix.join(path, directory, IGNORE_FILE);
    try {
      const text =
        files === undefined
          ? await readPatterns(file)
          : await files.readText(file, { maxBytes: MAX_PATTERNS_BYTES });
      return newIgnore().add(text);
    } catch (error) {
      const { code, errno } = error as { code?: unknown; errno?: unknown };
      if (isMissing(error) || code === "ENOTDIR" || errno === "ENOTDIR") return undefined;
      throw locationFailure(error, `${prefix}${file}`);
    }
  }
}

/** Pipes and devices do not contain patterns: reading one might never end. */
async function readPatterns(file: string): Promise<string> {
  const stats = await stat(file);
  return stats.isFile() && stats.size <= MAX_PATTERNS_BYTES ? readFile(file, "utf8") : "";
}

function newIgnore(): Ignore {
  return ignore({ ignorecase: false });
}
