import { expect, test } from "vitest";
import type { Files } from "../../../client/browser.ts";
import { FilePager, PAGE_BYTES } from "./file-pager.ts";

const LINE = "a line of a log\n";

/** A file that is too large for memory has no bytes before `hole`. */
class FakeFile {
  bytes: Uint8Array;
  kind = "file";
  readonly reads: { offset: number; length: number }[] = [];
  readonly #hole: number;

  constructor(text: string, hole = 0) {
    this.bytes = new TextEncoder().encode(text);
    this.#hole = hole;
  }

  get size(): number {
    return this.#hole + this.bytes.length;
  }

  append(text: string): void {
    this.bytes = Uint8Array.from([...this.bytes, ...new TextEncoder().encode(text)]);
  }

  get files(): Files {
    return {
      stat: async () => ({ kind: this.kind, size: this.size }),
      readStream: (_: string, range: { offset: number; length: number }) => this.#read(range),
    } as unknown as Files;
  }

  async *#read({ offset, length }: { offset: number; length: number }): AsyncGenerator<Uint8Array> {
    this.reads.push({ offset, length });
    if (offset < this.#hole) throw new Error(`byte ${offset} is not on this page`);
    yield this.bytes.slice(offset - this.#hole, offset - this.#hole + length);
  }
}

function open(file: FakeFile): FilePager {
  return new FilePager(file.files, "/log", "utf-8");
}

test("all pages together are the file, whole lines each, forwards and backwards", async () => {
  const text = Array.from({ length: 60_000 }, (_, line) => `line ${line}`).join("\n");
  const file = new FakeFile(text);
  const pager = open(file);
  let forwards = "";
  for (await pager.toStart(); ; await pager.later()) {
    const page = pager.page.value!;
    forwards += page.text;
    expect(page.text).toMatch(/^line \d/);
    expect(page.bytes.length).toBeLessThanOrEqual(PAGE_BYTES);
    if (page.to === file.size) break;
  }
  expect(forwards).toBe(text);
  let backwards = "";
  for (await pager.toEnd(); ; await pager.earlier()) {
    const page = pager.page.value!;
    backwards = page.text + backwards;
    expect(page.text).toMatch(/^line \d/);
    if (page.from === 0) break;
  }
  expect(backwards).toBe(text);
});

test("the end of 5 GB is read without anything before it", async () => {
  const file = new FakeFile(LINE.repeat(20_000), 5_000_000_000);
  const pager = open(file);
  await pager.toEnd();
  expect(pager.page.value!.to).toBe(file.size);
  expect(pager.page.value!.text.startsWith(LINE)).toBe(true);
  await pager.goTo(file.size - 100_003);
  expect(pager.page.value!.from).toBe(file.size - 100_016);
  for (const { length } of file.reads) expect(length).toBeLessThanOrEqual(PAGE_BYTES + 1);
});

test("a line that is longer than a page is cut between characters", async () => {
  const text = "ü".repeat(PAGE_BYTES);
  const pager = open(new FakeFile(`x${text}`));
  let all = "";
  for (await pager.toStart(); ; await pager.later()) {
    all += pager.page.value!.text;
    if (pager.page.value!.to === pager.size.value) break;
  }
  expect(all).toBe(`x${text}`);
});

test("what is appended is added, up to a bound; a shorter or another file is shown anew", async () => {
  const file = new FakeFile("one\n");
  const pager = open(file);
  const shown = (): string => pager.page.value!.text;
  void pager.follow();
  await expect.poll(() => pager.isFollowing.value).toBe(true);
  file.append("two\n");
  await expect.poll(shown).toBe("one\ntwo\n");
  // Only the end is read, with what shows that it is the same file.
  expect(file.reads.slice(1)).toEqual([
    { offset: 0, length: 4 },
    { offset: 4, length: 4 },
  ]);
  file.bytes = new TextEncoder().encode("new\n");
  await expect.poll(shown).toBe("new\n");
  file.bytes = new TextEncoder().encode("another one that is longer\n");
  await expect.poll(shown).toBe("another one that is longer\n");
  file.append(LINE.repeat(200_000));
  await expect.poll(() => pager.page.value!.to).toBe(file.size);
  expect(pager.page.value!.bytes.length).toBeLessThanOrEqual(PAGE_BYTES);
  pager.close();
});

test("another page ends following", async () => {
  const file = new FakeFile("one\n");
  const pager = open(file);
  const following = pager.follow();
  await expect.poll(() => pager.isFollowing.value).toBe(true);
  await pager.toStart();
  await following;
  expect(pager.isFollowing.value).toBe(false);
  file.append("two\n");
  expect(pager.page.value!.text).toBe("one\n");
});

test("a pipe that has taken the name is not read", async () => {
  const file = new FakeFile("one\n");
  const pager = open(file);
  file.kind = "other";
  await pager.toEnd();
  expect(String(pager.error.value)).toContain("no longer a regular file");
  expect(file.reads).toEqual([]);
});
