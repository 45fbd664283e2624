import { expect, test } from "vitest";
import { planUpload, readEntries, topNames } from "./upload-plan.ts";

const dropped = {
  files: [
    { file: new Blob(["abc"]), relative: "a.txt" },
    { file: new Blob(["de"]), relative: "photos/2026/b %#?.jpg" },
  ],
  directories: ["photos", "photos/empty"],
};

test("directories are made before what is in them, each once, also those without files", () => {
  const plan = planUpload("/home/me", dropped);
  expect(plan.directories).toEqual(["/home/me/photos", "/home/me/photos/empty", "/home/me/photos/2026"]);
  expect(plan.files.map(({ path }) => path)).toEqual(["/home/me/a.txt", "/home/me/photos/2026/b %#?.jpg"]);
  expect(plan.bytes).toBe(5);
});

test("the root takes files as any directory does", () => {
  expect(planUpload("/", dropped).files[0]!.path).toBe("/a.txt");
  expect(planUpload("/", dropped).directories[0]).toBe("/photos");
});

test("what may be in the way has the names of the first level", () => {
  expect([...topNames(dropped)]).toEqual(["a.txt", "photos"]);
});

interface FakeDirectory {
  readonly [name: string]: FakeDirectory | string | Error;
}

/** As a browser gives what was dropped: two children at a time. */
function entryOf(name: string, content: FakeDirectory | string | Error): FileSystemEntry {
  if (typeof content === "string" || content instanceof Error)
    return {
      name,
      isFile: true,
      isDirectory: false,
      file: (resolve: (file: File) => void, reject: (error: Error) => void) =>
        content instanceof Error ? reject(content) : resolve(new File([content], name)),
    } as unknown as FileSystemEntry;
  return {
    name,
    isFile: false,
    isDirectory: true,
    createReader: () => {
      const left = Object.entries(content).map(([child, inside]) => entryOf(child, inside));
      let at = 0;
      const next = (): FileSystemEntry[] => {
        at += 2;
        return left.slice(at - 2, at);
      };
      return { readEntries: (resolve: (some: FileSystemEntry[]) => void) => resolve(next()) };
    },
  } as unknown as FileSystemEntry;
}

const never = new AbortController().signal;
const ignore = (): void => {};

test("dropped directories are read to their end, with what is empty", async () => {
  const entry = entryOf("photos", {
    "a.jpg": "a",
    deep: { "b.jpg": "b", hollow: {} },
    "c.jpg": "c",
    "d.jpg": "d",
  });
  const found: number[] = [];
  const source = await readEntries([entry], [], never, (count) => found.push(count));
  expect(source.directories).toEqual(["photos", "photos/deep", "photos/deep/hollow"]);
  expect(source.files.map(({ relative }) => relative).sort()).toEqual([
    "photos/a.jpg",
    "photos/c.jpg",
    "photos/d.jpg",
    "photos/deep/b.jpg",
  ]);
  expect(found.at(-1)).toBe(7);
});

test("reading stops when it is told to, and at its bounds", async () => {
  const stopping = new AbortController();
  const reading = readEntries([entryOf("a", { b: "b", c: "c" })], [], stopping.signal, () =>
    stopping.abort(),
  );
  await expect(reading).rejects.toThrow("abort");
  const endless = { name: "loop", isFile: false, isDirectory: true } as unknown as FileSystemDirectoryEntry;
  Object.assign(endless, {
    createReader: () => ({ readEntries: (resolve: (some: FileSystemEntry[]) => void) => resolve([endless]) }),
  });
  await expect(readEntries([endless], [], never, ignore)).rejects.toThrow("is more than 64 directories deep");
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [String(index), ""]));
  await expect(readEntries([entryOf("many", many)], [], never, ignore)).rejects.toThrow(
    "more than 50000 files and directories are too many",
  );
});

test("a file that cannot be read here is named", async () => {
  const entry = entryOf("photos", { "a.jpg": new Error("a DOMException") });
  await expect(readEntries([entry], [], never, ignore)).rejects.toThrow(
    "photos/a.jpg cannot be read on this computer",
  );
});
