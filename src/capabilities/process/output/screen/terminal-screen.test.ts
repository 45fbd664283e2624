import headless from "@xterm/headless";
import { describe, expect, test } from "vitest";
import { OutputLog, type ProcessEvent } from "../output-log.ts";
import { Emulator } from "./emulator.ts";
import { TerminalScreen } from "./terminal-screen.ts";

const SIZE = { rows: 8, columns: 30 };

/** Flag of the emulator for the shape and colour of a line below the text, which is painted as a plain one. */
const UNDERLINE_DETAILS = 0x1000_0000;

/** A process's output without a process. */
class FakeOutput {
  readonly #log = new OutputLog({ maxRetainedBytes: 1024 * 1024, maxRetainedChunks: 10_000 });
  readonly #listeners = new Set<(event: ProcessEvent) => void>();
  readonly bytes: Buffer[] = [];
  pauses = 0;
  resumed = (): void => {};

  get firstSeq() {
    return this.#log.firstSeq;
  }
  get state() {
    return { nextSeq: this.#log.nextSeq };
  }
  chunksAfter(seq: number, maxBytes: number) {
    return this.#log.chunksAfter(seq, maxBytes);
  }
  listen(listener: (event: ProcessEvent) => void) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  get listeners() {
    return this.#listeners.size;
  }
  pauseOutput() {
    this.pauses += 1;
  }
  resumeOutput() {
    this.pauses -= 1;
    this.resumed();
  }
  write(data: string | Uint8Array) {
    const bytes = Buffer.from(data as string);
    this.bytes.push(bytes);
    const seq = this.#log.appendOutput("pty", bytes);
    // Like a process's output: the memory is used again for whatever is read next.
    const shared = Buffer.from(bytes);
    for (const listener of this.#listeners) listener({ kind: "output", seq, stream: "pty", bytes: shared });
    shared.fill("!");
  }
  close() {
    this.#log.appendExited({
      exitCode: 0,
      report: { cpuTimeMs: { user: 0, system: 0 } },
      sandboxDenied: false,
    });
    const seq = this.#log.appendClosed();
    for (const listener of this.#listeners) listener({ kind: "closed", seq });
  }
  /** Returns when the program may write. */
  async room() {
    while (this.pauses > 0) await new Promise<void>((resolve) => (this.resumed = resolve));
  }
}

/** A terminal of a client. */
class Viewer {
  readonly terminal = new headless.Terminal({
    rows: SIZE.rows,
    cols: SIZE.columns,
    allowProposedApi: true,
    logLevel: "off",
  });

  write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.terminal.write(data, resolve));
  }

  /** Everything that a person or a program could notice. */
  get looks() {
    const { active, normal } = this.terminal.buffer;
    const cells = (buffer: typeof active) =>
      Array.from({ length: SIZE.rows }, (_, row) =>
        Array.from({ length: SIZE.columns }, (_, column) => {
          const cell = buffer.getLine(buffer.baseY + row)!.getCell(column)!;
          const { fg, bg } = cell as unknown as { fg: number; bg: number };
          // A background of spaces and an erased one look the same.
          return `${cell.getChars() || " "}/${cell.getWidth()}/${fg}/${bg & ~UNDERLINE_DETAILS}`;
        }).join(" "),
      );
    const core = (this.terminal as unknown as { _core: { coreService: { isCursorHidden: boolean } } })._core;
    return {
      type: active.type,
      active: cells(active),
      normal: cells(normal),
      cursor: [active.cursorX, active.cursorY],
      modes: this.terminal.modes,
      hidden: core.coreService.isCursorHidden,
    };
  }
}

/** What `output` gives, painted from a snapshot in the middle, looks as if it had been seen from the start. */
async function compare(
  before: readonly (string | Uint8Array)[],
  after: readonly (string | Uint8Array)[] = [],
) {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  for (const data of before) output.write(data);
  const { paint, nextSeq, complete } = await screen.read({ paint: true });
  for (const data of after) output.write(data);
  expect(complete).toBe(true);
  const [direct, painted] = [new Viewer(), new Viewer()];
  for (const bytes of output.bytes) await direct.write(bytes);
  await painted.write(paint!);
  for (const { bytes } of output.chunksAfter(nextSeq - 1, Number.POSITIVE_INFINITY))
    await painted.write(bytes);
  expect(painted.looks).toEqual(direct.looks);
  return { direct, painted };
}

describe("a painted screen", () => {
  test.each([
    [
      "text and colours",
      "plain \u001b[1;31mred\u001b[0;48;5;200m on pink\u001b[38;2;1;2;3m rgb\u001b[m\r\nnext",
    ],
    [
      "styles",
      "\u001b[2mdim\u001b[22;3mitalic\u001b[23;4munder\u001b[24;7minverse\u001b[27;9mstruck\u001b[8mgone",
    ],
    ["bright colours", "\u001b[91;102mx\u001b[30;47my"],
    ["blanks with a background", "\u001b[44m\u001b[2J\u001b[3;3Hblue\u001b[m\u001b[5;1Hx"],
    ["wide and combined characters", "漢字 e\u0301 👍\r\n한국"],
    ["a full row", "x".repeat(30)],
    ["a full row that ends with a wide character", `${"x".repeat(28)}漢`],
    ["a wrapped row", "x".repeat(45)],
    ["a full last row", `\u001b[8;1H${"y".repeat(30)}`],
    ["the alternate screen", "shell$ vim\r\n\u001b[?1049h\u001b[H\u001b[2J~\r\n~ text\u001b[4;9H"],
    ["a hidden cursor", "\u001b[?25lnothing blinks"],
    ["keys and paste", "\u001b[?1h\u001b=\u001b[?2004h\u001b[?1004h"],
    ["the mouse", "\u001b[?1002h\u001b[?1006h"],
    ["insert mode", "abc\u001b[1;1H\u001b[4h"],
    ["no wrapping", "\u001b[?7lshort"],
    ["margins", "\u001b[2;5r\u001b[4;1Hinside"],
    ["margins with an origin", "1\r\n2\r\n3\u001b[2;5r\u001b[?6h\u001b[2;3Hx"],
    ["a saved cursor", "ab\u001b[35m\u001b7\u001b[m\u001b[6;6Hcd"],
    ["line drawing", "\u001b(0lqqk\u001b(B done"],
    ["line drawing that has been shifted in", "\u001b)0\u000elqq"],
    ["the colour that is set", "\u001b[33;44m"],
    ["scrolled text", Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\r\n")],
  ])("shows %s, and goes on from there", async (_name, text) => {
    await compare(
      [text],
      ["z", "\u001b8more\r\n\u000fq\u000e\r\n", "漢\u001b[?1049lend\r\n", "\u001b[K1\r\n2\r\n3"],
    );
  });

  test.each([
    ["an escape sequence", "a\u001b[3", "1mred"],
    ["a lone escape", "a\u001b", "[31mred"],
    ["the end of a string", "a\u001b]0;title\u001b", "\\after"],
    ["a title", "a\u001b]0;ti", "tle\u0007after"],
    ["an escape sequence with control characters", "a\r\nb\u001b[\n3\b", "1mred"],
    ["a character", Buffer.from("ä漢").subarray(0, 3), Buffer.from("ä漢").subarray(3)],
    ["a character of four bytes", Buffer.from("👍").subarray(0, 3), Buffer.from("👍").subarray(3)],
    ["what is not UTF-8", Buffer.from([0x61, 0xf0, 0x62, 0xab]), "after"],
    [
      "a finished sequence before a character",
      Buffer.from("\u001b[1mä漢").subarray(0, -2),
      Buffer.from("漢").subarray(1),
    ],
  ])("goes on within %s", async (_name, before, after) => {
    await compare([before], [after, " end"]);
    // The same byte by byte.
    await compare(
      Array.from(Buffer.from(before as string), (byte) => Buffer.of(byte)),
      Array.from(Buffer.from(after as string), (byte) => Buffer.of(byte)),
    );
  });

  test("swallows the rest of a long string", async () => {
    const { painted } = await compare(["a\u001bP", "q".repeat(100_000)], ["q".repeat(50_000), "\u001b\\b"]);
    expect(painted.terminal.buffer.active.getLine(0)!.translateToString(true)).toBe("ab");
  });
});

test("a combining character without one before it takes a cell, also in what paints the screen", async () => {
  const output = new FakeOutput();
  output.write("some\u001b[m\u0301 words 漢 more");
  const { paint } = await new TerminalScreen(output, () => SIZE).read({ paint: true });
  const viewer = new Viewer();
  await viewer.write(paint!);
  expect(viewer.terminal.buffer.active.getLine(0)!.translateToString(true)).toBe("some  words 漢 more");
});

test("a row that ends with such a character wraps where it did", async () => {
  const output = new FakeOutput();
  output.write(`${"x".repeat(SIZE.columns - 1)}\u001b[m\u0301`);
  const { paint } = await new TerminalScreen(output, () => SIZE).read({ paint: true });
  const viewer = new Viewer();
  await viewer.write(paint!);
  await viewer.write("y");
  expect(viewer.terminal.buffer.active.getLine(1)!.translateToString(true)).toBe("y");
});

test("an emoji is two columns wide, as programs count it, so the cursor is where they left it", async () => {
  const output = new FakeOutput();
  output.write("ünï😀漢字e\u0301x\u001b[3D");
  const { paint } = await new TerminalScreen(output, () => SIZE).read({ paint: true });
  const painted = Buffer.from(paint!).toString();
  expect(painted).toContain("ünï😀漢字e\u0301x");
  expect(painted).toContain("\u001b[1;9H");
});

/** Everything a program might write, by a seed. */
function garbage(seed: number, length: number): Buffer {
  let state = seed;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  const pieces = [
    () => "text ",
    () => "\r\n",
    () => `\u001b[${next(12)};${next(40)}H`,
    () => `\u001b[${next(110)};${next(60)}m`,
    () => `\u001b[${next(4)}${"JKLMPX@ABCDEFGSTbr"[next(18)]}`,
    () => `\u001b[?${[1, 6, 7, 25, 45, 47, 1000, 1002, 1006, 1047, 1049, 2004][next(12)]}${"hl"[next(2)]}`,
    () => "\u001b[4hx\u001b[4l",
    () => `\u001b${"78DMEc=>"[next(8)]}`,
    () => "漢字",
    () => `\u001b${"()"[next(2)]}${"0B"[next(2)]}\u000eq\u000f`,
    () => `\u001b]0;${"t".repeat(next(20))}\u0007`,
    () => `\t\b${String.fromCharCode(next(32))}`,
  ];
  let text = "";
  while (text.length < length) text += pieces[next(pieces.length)]!();
  return Buffer.from(text);
}

test("whatever a program writes, cut anywhere, continues as if it had been seen from the start", async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const bytes = garbage(seed, 600);
    const cut = (seed * 37) % bytes.length;
    await compare([bytes.subarray(0, cut)], [bytes.subarray(cut)]);
  }
});

test("a screen that is followed twice reads its output once", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  screen.follow();
  screen.follow();
  await output.room();
  expect(output.listeners).toBe(1);
  output.write("once");
  expect((await screen.read()).lines[0]).toBe("once");
});

test("a followed screen is right after far more output than is kept", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  screen.follow();
  output.write("\u001b[?1049h\u001b[?1h\u001b[?25l");
  const filler = "\u001b[H\u001b[31mrow of text\u001b[m\r\n".repeat(100);
  for (let total = 0; total < 3 * 1024 * 1024; total += filler.length) {
    await output.room();
    output.write(filler);
  }
  output.write("\u001b[5;5Hlast");
  expect(output.firstSeq).toBeGreaterThan(1);
  const { complete, lines, paint } = await screen.read({ paint: true });
  expect(complete).toBe(true);
  expect(lines[4]).toBe("    last");
  const viewer = new Viewer();
  await viewer.write(paint!);
  expect(viewer.looks).toMatchObject({
    type: "alternate",
    hidden: true,
    modes: { applicationCursorKeysMode: true },
  });
});

test("a program that floods its followed screen waits, and the server does not", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  screen.follow();
  await screen.read();
  expect(output.pauses).toBe(0);
  const flood = Buffer.alloc(64 * 1024, "y\r\n");
  let written = 0;
  while (output.pauses === 0) {
    output.write(flood);
    written += flood.length;
  }
  expect(written).toBeLessThan(1024 * 1024);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (output.pauses > 0) setImmediate(count);
  };
  setImmediate(count);
  await output.room();
  // One turn of the event loop for every few KiB.
  expect(turns).toBeGreaterThan(3);
});

test("a screen that nobody follows delays no program, however much it writes while it is read", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  const flood = Buffer.alloc(512 * 1024, "y\r\n");
  output.write(flood);
  const first = screen.read();
  await screen.read();
  const reads = Array.from({ length: 20 }, () => {
    output.write(flood);
    return screen.read();
  });
  output.write("\r\nend");
  expect(output.pauses).toBe(0);
  for (const { lines } of await Promise.all([first, ...reads])) expect(lines[0]).toBe("y");
  const { lines, complete } = await screen.read();
  expect(lines.at(-1)).toBe("end");
  expect(complete).toBe(false);
});

test("a huge terminal costs no more than a large one", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => ({ rows: 65_535, columns: 65_535 }));
  output.write("hello");
  expect((await screen.read()).lines).toHaveLength(300);
});

test("a resized terminal is read with its new size", async () => {
  const output = new FakeOutput();
  let size = { rows: 4, columns: 10 };
  const screen = new TerminalScreen(output, () => size);
  screen.follow();
  await screen.read();
  size = { rows: 4, columns: 20 };
  output.write("fifteen columns");
  expect((await screen.read()).lines[0]).toBe("fifteen columns");
});

test("everything up to the last cell can be erased", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  output.write("text\u001b[8;30Hx\u001b[1Jy");
  const { lines, complete } = await screen.read();
  expect(complete).toBe(true);
  expect(lines).toEqual(["", "", "", "", "", "", "", "y"]);
});

test("an emulator that fails starts again with an empty screen, and says so", async () => {
  const emulator = await Emulator.open(SIZE, () => {});
  emulator.write(Buffer.from("before"));
  await emulator.whenRead(() => {});
  emulator.core._inputHandler.parse = () => {
    throw new Error("a fault");
  };
  emulator.write(Buffer.from("bad"));
  emulator.write(Buffer.from("good"));
  const line = () => emulator.terminal.buffer.active.getLine(0)?.translateToString(true);
  expect(await emulator.whenRead(line)).toBe("good");
  expect(emulator.damaged).toBe(true);
});

test("an emulator that fails while it is resized has the new size", async () => {
  const emulator = await Emulator.open(SIZE, () => {});
  emulator.terminal.resize = () => {
    throw new Error("a fault");
  };
  emulator.resize({ rows: 5, columns: 40 });
  emulator.write(Buffer.from("good"));
  const size = await emulator.whenRead(() => [emulator.terminal.rows, emulator.terminal.cols]);
  expect([size, emulator.damaged]).toEqual([[5, 40], true]);
});

test("output that is read later does not appear on the screen of output that was read before", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  output.write("retained ");
  await screen.read();
  output.write("and followed");
  // What was retained is evicted, and its memory used again.
  for (let chunk = 0; chunk < 40; chunk += 1) output.write(Buffer.alloc(64 * 1024, "\0"));
  expect((await screen.read()).lines[0]).toBe("retained and followed");
});

test("the last screen of an ended process stays", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => SIZE);
  screen.follow();
  await screen.read();
  output.write("\u001b[31mthe end");
  output.close();
  const during = await screen.read({ paint: true });
  const later = await screen.read({ paint: true });
  expect(later).toEqual(during);
  expect(later).toMatchObject({ complete: true, nextSeq: 4, cursor: { row: 0, column: 7 } });
  expect(Buffer.from(later.paint!).toString()).toContain("the end");
  expect(await screen.read()).toEqual({ ...later, paint: undefined });
});

test("a large screen in many colours is painted in many turns, and nothing is read meanwhile", async () => {
  const output = new FakeOutput();
  const screen = new TerminalScreen(output, () => ({ rows: 200, columns: 200 }));
  const colourful = Array.from({ length: 40_000 }, (_, cell) => `\u001b[38;2;${cell % 256};9;9mx`).join("");
  screen.follow();
  for (let start = 0; start < colourful.length; start += 65_536) {
    await output.room();
    output.write(colourful.slice(start, start + 65_536));
  }
  await screen.read();
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const painting = screen.read({ paint: true });
  await new Promise((resolve) => setImmediate(resolve));
  output.write("\u001b[2J");
  const { paint, lines } = await painting;
  isDone = true;
  expect(turns).toBeGreaterThan(3);
  expect(lines[199]).toBe("x".repeat(200));
  // One more: the cursor waits behind the last cell.
  expect(Buffer.from(paint!).toString().match(/x/g)).toHaveLength(40_001);
  expect((await screen.read()).lines[199]).toBe("");
});
