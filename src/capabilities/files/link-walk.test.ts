import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { fstatSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LinkWalk } from "./link-walk.ts";

let top: string;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "link-walk-")));
  mkdirSync(join(top, "d/e"), { recursive: true });
  writeFileSync(join(top, "d/f"), "");
});

afterEach(() => rmSync(top, { recursive: true, force: true }));

interface Walked {
  readonly path: string;
  readonly missing: number;
  readonly isSymlink: boolean;
  /** What the descriptors are open on, by inode. */
  readonly parent: number;
  readonly target: number | undefined;
}

interface Options {
  readonly followLast?: boolean;
  readonly checkLink?: (directory: number) => void;
}

function walk(path: string, { followLast = true, checkLink = () => {} }: Options = {}): Walked {
  const { names, missing, parent, target, isSymlink } = new LinkWalk(Buffer.from(path), checkLink).run(
    followLast,
  );
  const walked = {
    path: `/${names.map((name) => name.toString()).join("/")}`,
    missing,
    isSymlink,
    parent: fstatSync(parent).ino,
    target: target === undefined ? undefined : fstatSync(target).ino,
  };
  closeSync(parent);
  if (target !== undefined) closeSync(target);
  return walked;
}

const link = (target: string, name: string): void => symlinkSync(target, join(top, name));
const inode = (path: string): number => statSync(path).ino;
const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

describe("a walk", () => {
  it("ends at what is there, with the directory that holds it", () => {
    expect(walk(`${top}/d/f`)).toEqual({
      path: `${top}/d/f`,
      missing: 0,
      isSymlink: false,
      parent: inode(`${top}/d`),
      target: inode(`${top}/d/f`),
    });
    expect(walk("/").target).toBe(inode("/"));
  });

  it("names what is missing, below the last directory that is there", () => {
    expect(walk(`${top}/d/new/./deep`)).toEqual({
      path: `${top}/d/new/deep`,
      missing: 2,
      isSymlink: false,
      parent: inode(`${top}/d`),
      target: undefined,
    });
  });

  it("follows relative and absolute links, on the way and at the end", () => {
    link("d/e", "relative");
    link(`${top}/d`, "absolute");
    link("../f", "d/e/up");
    expect(walk(`${top}/relative`).path).toBe(`${top}/d/e`);
    expect(walk(`${top}/absolute/f`).path).toBe(`${top}/d/f`);
    expect(walk(`${top}/relative/up`)).toMatchObject({ path: `${top}/d/f`, isSymlink: true });
  });

  it("stays on the last link if it is not to be followed, and follows the others", () => {
    link("d", "way");
    link("nowhere", "d/last");
    const { path, isSymlink, target } = walk(`${top}/way/last`, { followLast: false });
    expect([path, isSymlink, target === undefined]).toEqual([`${top}/d/last`, true, false]);
  });

  it("ends at a directory that a link leads to by dots", () => {
    link("d/e/..", "dots");
    expect(walk(`${top}/dots`)).toMatchObject({ path: `${top}/d`, target: inode(`${top}/d`) });
  });

  it("leads through a broken link to what is missing", () => {
    link("d/new", "broken");
    expect(walk(`${top}/broken`)).toMatchObject({ path: `${top}/d/new`, missing: 1 });
  });
});

describe("a walk is refused", () => {
  const refusal = (path: string, options?: Options): string => {
    const before = openDescriptors();
    let errno = "none";
    try {
      walk(path, options);
    } catch (error) {
      errno = (error as { errno?: string }).errno ?? String(error);
    }
    expect(openDescriptors()).toBe(before);
    return errno;
  };

  it("through a file, through nothing and back, and in a loop; it leaves no descriptor open", () => {
    link("loop", "loop");
    link("d/new/../f", "back");
    expect(refusal(`${top}/d/f/x`)).toBe("ENOTDIR");
    expect(refusal(`${top}/back`)).toBe("ENOENT");
    expect(refusal(`${top}/loop`)).toBe("ELOOP");
  });

  it("after 40 links, as in Linux", () => {
    link("d/f", "l0");
    for (let index = 1; index <= 40; index += 1) link(`l${index - 1}`, `l${index}`);
    expect(walk(`${top}/l39`).path).toBe(`${top}/d/f`);
    expect(refusal(`${top}/l40`)).toBe("ELOOP");
  });

  it("when its links make it open thousands of directories", () => {
    link(`${"d/../".repeat(700)}d`, "long");
    expect(refusal(`${top}/long/../long/../long`)).toBe("ELOOP");
  });

  it("where the check of a link's directory says so", () => {
    link("d", "way");
    const seen: number[] = [];
    const checkLink = (directory: number): void => {
      seen.push(fstatSync(directory).ino);
      throw new Error("not this one");
    };
    expect(refusal(`${top}/way/f`, { checkLink })).toBe("Error: not this one");
    expect(seen).toEqual([inode(top)]);
    expect(refusal(`${top}/way`, { checkLink, followLast: false })).toBe("none");
  });
});
