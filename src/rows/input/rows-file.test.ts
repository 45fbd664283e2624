import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RowItem } from "../engine/row.ts";
import { RowsFile, type RowsFileOptions } from "./rows-file.ts";
import { SeenIds } from "./seen-ids.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rows-"));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function write(contents: string | Buffer, name = "rows.csv"): string {
  const path = join(directory, name);
  writeFileSync(path, contents);
  return path;
}

async function read(contents: string | Buffer, options: RowsFileOptions & { name?: string } = {}) {
  const { name, ...rest } = options;
  const file = await RowsFile.open(write(contents, name), rest);
  const items: RowItem[] = [];
  for await (const item of file.rows()) items.push(item);
  expect(items).toHaveLength(file.count);
  return { file, items, values: items.map(({ values }) => Object.values(values)) };
}

/** The line about what is wrong, without the path. */
async function fault(
  contents: string | Buffer,
  options: RowsFileOptions & { name?: string } = {},
): Promise<string> {
  const { name, ...rest } = options;
  const path = write(contents, name);
  const error: Error = await RowsFile.open(path, rest).then(
    () => new Error("nothing is wrong"),
    (thrown: Error) => thrown,
  );
  expect(error.message).not.toContain("\n");
  return error.message.replaceAll(path, "FILE");
}

describe("CSV", () => {
  it("has columns, and rows with an index and an id", async () => {
    const { file, items } = await read("name,age\nann,7\nbob,\n");
    expect([file.columns, file.count]).toEqual([["name", "age"], 2]);
    expect(items).toEqual([
      { index: 0, id: "row-1", values: { name: "ann", age: "7" } },
      { index: 1, id: "row-2", values: { name: "bob", age: "" } },
    ]);
  });

  it.each([
    [
      "quotes, delimiters and newlines in cells",
      'a,b\n"x ""y"", z","one\ntwo\r\nthree"\n',
      [['x "y", z', "one\ntwo\r\nthree"]],
    ],
    ["a byte order mark", "\uFEFFa,b\n1,2\n", [["1", "2"]]],
    [
      "line ends of Windows",
      "a,b\r\n1,2\r\n3,4\r\n",
      [
        ["1", "2"],
        ["3", "4"],
      ],
    ],
    ["no line end at the end", "a,b\n1,2", [["1", "2"]]],
    ["semicolons", "a;b\n1,5;2\n", [["1,5", "2"]]],
    ["tabs", "a\tb\n1\t2\n", [["1", "2"]]],
    ["bars", "a|b\n1|2\n", [["1", "2"]]],
    ["blank lines before a header with another delimiter", "\n\na;b\n1;2\n", [["1", "2"]]],
    ["delimiters in a quoted name of a column", '"a;b;c;d",e\n1,2\n', [["1", "2"]]],
    [
      "empty cells",
      'a,b\n,\n"",x\n',
      [
        ["", ""],
        ["", "x"],
      ],
    ],
    [
      "quotes within cells that do not begin or end with one",
      'a,b\n1,2"3\n"4"5,6\n',
      [
        ["1", '2"3'],
        ['"4"5', "6"],
      ],
    ],
    ["blank lines", "a,b\n\n1,2\n\n\n", [["1", "2"]]],
    ["one column", "a\n1\n2\n", [["1"], ["2"]]],
    ["no rows", "a,b\n", []],
    ["other alphabets", "名,Ω\n猫,😀\n", [["猫", "😀"]]],
    ["a column that JavaScript has a meaning for", "__proto__,constructor\n1,2\n", [["1", "2"]]],
  ])("%s", async (_, contents, expected) => {
    expect((await read(contents)).values).toEqual(expected);
  });

  it("a cell of 1 MB", async () => {
    const large = "x".repeat(1_000_000);
    expect((await read(`a,b\n1,"${large}\n"\n`)).values).toEqual([["1", `${large}\n`]]);
  });

  it("characters that are cut between two reads are whole", async () => {
    const text = "😀".repeat(200_000);
    expect((await read(`a\n${text}\nx${text}\n`)).values).toEqual([[text], [`x${text}`]]);
  });

  it("the delimiter that is given counts, and a .tsv file has tabs", async () => {
    expect((await read("a:b,c\n1:2,3\n", { delimiter: ":" })).values).toEqual([["1", "2,3"]]);
    expect((await read("a,b,c\td\n1\t2\n", { name: "rows.tsv" })).values).toEqual([["1", "2"]]);
  });

  it.each([
    ["an empty file", "", "FILE is empty: it needs a header with the names of the columns"],
    ["blank lines only", "\n\n", "FILE is empty: it needs a header with the names of the columns"],
    ["two columns of one name", "a,b,a\n", "FILE: two columns are called 'a'"],
    ["a column without a name", "a,,c\n1,2,3\n", "FILE: column 2 has no name in the header"],
    ["a row with too few cells", "a,b\n1,2\n3\n", "FILE, line 3: row 2 has 1 cell, but the header has 2"],
    ["a row with too many cells", "a,b\n1,2,3\n", "FILE, line 2: row 1 has 3 cells, but the header has 2"],
    ["a quote that is not closed", 'a,b\n1,"2\n3,4\n', "FILE, line 3: a quote is not closed"],
    ["a NUL", "a,b\n1,2\0\n", "FILE, line 2, byte 8: a NUL, which cannot be passed to a program"],
  ])("%s is refused", async (_, contents, message) => {
    expect(await fault(contents)).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
  });
});

describe("encodings", () => {
  it("names the line and the byte that are not UTF-8", async () => {
    expect(await fault(Buffer.from("name\nann\ncaf\xe9,\n", "latin1"))).toBe(
      "FILE, line 3, byte 13: the byte 0xe9, which is not UTF-8; convert the file with iconv",
    );
  });

  it("finds a wrong byte anywhere", async () => {
    for (const at of [5, 262_143, 262_144, 262_145, 300_000]) {
      const bytes = Buffer.from(`a\n${"é".repeat(160_000)}\n`);
      bytes[at] = 0xff;
      expect(await fault(bytes)).toMatch(/^FILE, line 2, byte \d+: the byte 0x(?:ff|c3), which is not UTF-8/);
    }
  });

  it("a character that the end cuts off is refused", async () => {
    expect(await fault(Buffer.from("a\nx\xc3", "latin1"))).toMatch(/^FILE, line 2, byte 4: the byte 0xc3/);
  });

  it("UTF-16 is refused", async () => {
    expect(await fault(Buffer.from("\uFEFFa,b\n1,2\n", "utf16le"))).toBe(
      "FILE is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8",
    );
  });
});

describe("ids", () => {
  it("come from a column", async () => {
    const { items } = await read("key,x\nk1,1\nk2,2\n", { idColumn: "key" });
    expect(items.map(({ id, sourceId }) => [id, sourceId])).toEqual([
      ["k1", "k1"],
      ["k2", "k2"],
    ]);
  });

  it.each([
    ["a duplicate", "key\na\nb\na\n", "FILE, line 4: row 3 has the id 'a', which row 1 has, too"],
    ["a missing one", "key,x\na,1\n,2\n", "FILE, line 3: row 2 has no id in the column 'key'"],
    ["a blank one", "key,x\n  ,2\n", "FILE, line 2: row 1 has no id in the column 'key'"],
    ["a missing column", "name,x\na,1\n", "FILE has no column 'key' for ids; it has 'name', 'x'"],
    ["a missing column without rows", "name,x\n", "FILE has no column 'key' for ids; it has 'name', 'x'"],
    ["a line break", 'key\n"a\nb"\n', /its id has line breaks/],
  ])("%s is refused", async (_, contents, message) => {
    expect(await fault(contents, { idColumn: "key" })).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
  });

  it("a hundred thousand different ones are different", () => {
    const seen = new SeenIds();
    let added = 0;
    for (let index = 0; index < 100_000; index += 1) if (seen.add(`id${index}`)) added += 1;
    expect(added).toBe(100_000);
    for (const id of ["id0", "id99999"]) expect(seen.add(id)).toBe(false);
  });
});

describe("JSON lines", () => {
  it("have members as columns, as text", async () => {
    const { file, items } = await read('{"a":"x","n":1.5}\n\n{"a":null,"list":[1,{"b":true}],"yes":true}\n', {
      name: "rows.jsonl",
    });
    expect(file.columns).toEqual(["a", "n", "list", "yes"]);
    expect(items.map(({ values }) => values)).toEqual([
      { a: "x", n: "1.5" },
      { a: "", list: '[1,{"b":true}]', yes: "true" },
    ]);
    expect(items[0]!.json).toBe('{"a":"x","n":1.5}');
  });

  it("an empty file has no rows", async () => {
    expect((await read("", { format: "jsonl" })).items).toEqual([]);
  });

  it("ids come from a member", async () => {
    const { items } = await read('{"key":1}\n{"key":2}\n', { format: "jsonl", idColumn: "key" });
    expect(items.map(({ id }) => id)).toEqual(["1", "2"]);
  });

  it.each([
    ["something else", '{"a":1}\nhello\n', "FILE: line 2 is not JSON"],
    ["a list", "[1]\n", "FILE: line 1 is not a JSON object"],
    ["a NUL", '{"a":"\\u0000"}\n', "FILE: line 1 has a NUL in 'a', which cannot be passed to a program"],
  ])("%s is refused", async (_, contents, message) => {
    expect(await fault(contents, { format: "jsonl" })).toBe(message);
  });
});

describe("files", () => {
  it("that are not there, no files, or stdin are refused", async () => {
    await expect(RowsFile.open(join(directory, "none.csv"))).rejects.toThrow(/there is no file .*none\.csv/);
    await expect(RowsFile.open(directory)).rejects.toThrow("is not a regular file");
    await expect(RowsFile.open("-")).rejects.toThrow("need a file, not stdin");
  });

  it("that have changed are not read on", async () => {
    const path = write("a\n1\n2\n");
    const file = await RowsFile.open(path);
    writeFileSync(path, "a\n1\n2\n3\n");
    await expect(file.rows().next()).rejects.toThrow("changed while its rows were being read");
  });

  it("are the same if their contents are", async () => {
    const [one, other] = [
      await RowsFile.open(write("a\n1\n")),
      await RowsFile.open(write("a\n1\n", "b.csv")),
    ];
    expect(one.sha256).toBe(other.sha256);
    expect((await RowsFile.open(write("a\n2\n", "b.csv"))).sha256).not.toBe(one.sha256);
  });
});
