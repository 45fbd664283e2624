import { expect, it } from "vitest";
import { type AuditHead, formatHead, NO_LINES, readLine } from "./chain.ts";
import { SealedLines } from "./sealed-lines.ts";
import { type AuditPart, type KnownHead, verifyAudit } from "./verify.ts";

/** The next line, with the members of this JSON object. */
function sealLine(before: AuditHead, facts: string): { text: string; head: AuditHead } {
  const lines = new SealedLines(before);
  lines.add(facts.slice(1, -1));
  return { text: lines.bytes().toString(), head: lines.head };
}

/** A log of so many lines. */
function makeLog(count: number, from: AuditHead = NO_LINES): { lines: string[]; heads: AuditHead[] } {
  const lines: string[] = [];
  const heads: AuditHead[] = [];
  let head = from;
  for (let index = 0; index < count; index += 1) {
    const sealed = sealLine(head, JSON.stringify({ event: "test", index }));
    head = sealed.head;
    lines.push(sealed.text);
    heads.push(head);
  }
  return { lines, heads };
}

async function* partsOf(files: readonly string[], pieceBytes = 100): AsyncGenerator<AuditPart> {
  for (const [index, text] of files.entries()) {
    const bytes = Buffer.from(text);
    const pieces = async function* (): AsyncGenerator<Buffer> {
      for (let start = 0; start < bytes.length; start += pieceBytes)
        yield bytes.subarray(start, start + pieceBytes);
    };
    yield { name: `file${index}`, content: pieces() };
  }
}

const verify = (lines: readonly string[], known?: KnownHead) => verifyAudit(partsOf([lines.join("")]), known);

const { lines, heads } = makeLog(10);

it("a log that nobody touched fits, in one file or several, however it is read", async () => {
  const verdict = { lines: 10, first: 1, head: heads[9], lost: 0 };
  for (const pieceBytes of [7, 100_000]) {
    expect(await verifyAudit(partsOf([lines.join("")], pieceBytes))).toEqual(verdict);
    const files = [lines.slice(0, 4).join(""), lines.slice(4, 5).join(""), lines.slice(5).join("")];
    expect(await verifyAudit(partsOf(files, pieceBytes), heads[6])).toEqual(verdict);
  }
  expect(await verify([])).toEqual({ lines: 0, lost: 0 });
  const first = sealLine(NO_LINES, '{"event":"gap","lost":3}');
  const second = sealLine(first.head, '{"event":"gap","lost":4}');
  expect(await verify([first.text, second.text])).toMatchObject({ lines: 2, lost: 7 });
});

it("any changed byte of a line is found, and the line is named", async () => {
  const target = lines[4]!;
  for (let index = 0; index < target.length - 1; index += 1) {
    const changed = `${target.slice(0, index)}${target[index] === "0" ? "1" : "0"}${target.slice(index + 1)}`;
    const { fault } = await verify(lines.with(4, changed));
    expect(fault, `byte ${index}`).toMatchObject({ kind: "changed", line: 5, file: "file0", position: 5 });
  }
});

it("a line whose hash was computed again is found by the line after it", async () => {
  const forged = sealLine(heads[3]!, '{"event":"forged"}').text;
  expect((await verify(lines.with(4, forged))).fault).toMatchObject({
    kind: "replaced",
    line: 5,
    position: 6,
  });
});

it("missing lines are named", async () => {
  expect((await verify(lines.toSpliced(4, 1))).fault).toMatchObject({
    kind: "missing",
    line: 5,
    position: 5,
    message: "line 5 is missing: line 6 follows line 4",
  });
  expect((await verify(lines.toSpliced(4, 3))).fault?.message).toBe(
    "lines 5 to 7 are missing: line 8 follows line 4",
  );
  const files = [lines.slice(0, 3).join(""), lines.slice(6).join("")];
  expect((await verifyAudit(partsOf(files))).fault).toMatchObject({
    kind: "missing",
    line: 4,
    file: "file1",
  });
});

it("a missing line is looked for in the next 10 000 lines", async () => {
  const long = makeLog(10_010).lines;
  expect((await verify(long.toSpliced(4, 1))).fault).toMatchObject({ kind: "missing", line: 5 });
});

it("swapped lines are named", async () => {
  const swapped = lines.with(4, lines[5]!).with(5, lines[4]!);
  expect((await verify(swapped)).fault).toMatchObject({ kind: "swapped", line: 5, position: 5 });
});

it("an inserted or repeated line is named", async () => {
  expect((await verify(lines.toSpliced(5, 0, lines[2]!))).fault).toMatchObject({
    kind: "inserted",
    line: 3,
    position: 6,
  });
  const forged = sealLine(heads[4]!, '{"event":"forged"}').text;
  expect((await verify(lines.toSpliced(5, 0, forged))).fault).toMatchObject({
    kind: "inserted",
    line: 6,
    position: 7,
  });
});

it("a cut-off end is found by a known head, and only by it", async () => {
  expect((await verify(lines.slice(0, 7))).fault).toBeUndefined();
  expect((await verify(lines.slice(0, 7), heads[9])).fault).toMatchObject({ kind: "cutOff", line: 8 });
  expect((await verify(lines.slice(0, 7), { hash: heads[9]!.hash })).fault).toMatchObject({ kind: "cutOff" });
  expect((await verify(lines.slice(0, 7), heads[6])).fault).toBeUndefined();
  expect((await verify([], heads[0])).fault).toMatchObject({ kind: "cutOff", line: 1 });
});

it("a log that was rewritten is found by a known head", async () => {
  const first = sealLine(NO_LINES, '{"event":"forged"}');
  const anew = [first.text, ...makeLog(10, first.head).lines];
  expect((await verify(anew)).fault).toBeUndefined();
  expect((await verify(anew, heads[5])).fault).toMatchObject({ kind: "rewritten", line: 6 });
});

it("a log without its first files fits from where it begins", async () => {
  expect(await verify(lines.slice(3))).toEqual({ lines: 7, first: 4, head: heads[9], lost: 0 });
  expect((await verify(lines.slice(3), heads[1])).fault).toMatchObject({ kind: "missing", line: 2 });
});

it("a last line that is not whole is reported, and is wrong anywhere else", async () => {
  const torn = lines[9]!.slice(0, 50);
  expect(await verify(lines.with(9, torn))).toMatchObject({ lines: 9, tornBytes: 50 });
  const files = [lines.slice(0, 5).with(4, torn).join(""), lines.slice(5).join("")];
  expect((await verifyAudit(partsOf(files))).fault).toMatchObject({ kind: "changed", line: 5 });
});

it("junk of any length is named in bounded memory", async () => {
  const junk = "x".repeat(3_000_000);
  const whole = `${lines.slice(0, 2).join("")}${junk}\n${lines.slice(2).join("")}`;
  const { fault } = await verifyAudit(partsOf([whole], 65_536));
  expect(fault).toMatchObject({ kind: "changed", line: 3, position: 3 });
  for (const odd of ["\n", "null\n", "[]\n", `{"n":3}\n`, "\u0000\n"])
    expect((await verify(lines.toSpliced(2, 0, odd))).fault).toMatchObject({ kind: "changed", line: 3 });
});

it("names are escaped so that a line stays one line, and no terminal acts on it", () => {
  const name = "a\nb\r\u001b[31m\u0085\u009b\u2028\u2029\u007f\ud800\u202e\u2066";
  const { text, head } = sealLine(NO_LINES, JSON.stringify({ name }));
  expect(text).toMatch(/^[\x20-\x7e]*\n$/);
  const read = readLine(Buffer.from(text.slice(0, -1)));
  expect(read).toMatchObject({ n: 1, hash: head.hash, fits: true, facts: { name } });
  expect(formatHead(head)).toBe(`1:${head.hash}`);
});

it("a file that never ends, and has no lines, is found out", async () => {
  const endless = async function* (): AsyncGenerator<Buffer> {
    for (;;) yield Buffer.alloc(100_000);
  };
  const parts = async function* (): AsyncGenerator<AuditPart> {
    yield { name: "zero", content: endless() };
  };
  const { fault } = await verifyAudit(parts());
  expect(fault).toMatchObject({ kind: "changed", line: 1, file: "zero", position: 1 });
});
