import headless from "@xterm/headless";
import { describe, expect, test } from "vitest";
import { runSeed, SeededRandom } from "../../test/fault/seeded-random.ts";
import { boundedGrid, boundEmulator, sliceBytes } from "./emulator-bounds.ts";

const CSI = "\u001b[";
const LARGEST = 2 ** 31 - 1;

type Terminal = InstanceType<typeof headless.Terminal>;

interface Internals {
  registerCsiHandler(
    id: { prefix?: string; final: string },
    handler: (parameters: { params: Int32Array }) => boolean,
  ): void;
  readonly _inputHandler: { parse(bytes: Uint8Array): void };
}

function internals(terminal: Terminal): Internals {
  return (terminal as unknown as { _core: Internals })._core;
}

function emulator(size: { cols: number; rows: number }): Terminal {
  return new headless.Terminal({ ...size, scrollback: 0, allowProposedApi: true, logLevel: "off" });
}

function write(terminal: Terminal, text: string): void {
  internals(terminal)._inputHandler.parse(Buffer.from(text));
}

/** Records what the built-in handlers would get, without calling them: unbounded, they would take hours. */
function observed(size: { cols: number; rows: number }, finals: string): [Terminal, Record<string, number>] {
  const terminal = emulator(size);
  const counts: Record<string, number> = {};
  for (const final of finals)
    internals(terminal).registerCsiHandler({ final }, ({ params }) => {
      counts[final] = params[0]!;
      return true;
    });
  boundEmulator(terminal);
  return [terminal, counts];
}

describe("a count that is far larger than the screen", () => {
  test.each([
    { cols: 80, rows: 24 },
    { cols: 1000, rows: 300 },
    { cols: 2, rows: 1 },
  ])("is at most what changes a screen of $cols by $rows", (size) => {
    const [terminal, counts] = observed(size, "LMSTIZ");
    for (const final of "LMSTIZ") write(terminal, `${CSI}${LARGEST}${final}`);
    expect(counts).toEqual({
      L: size.rows,
      M: size.rows,
      S: size.rows,
      T: size.rows,
      I: size.cols,
      Z: size.cols,
    });
  });

  test.each([
    ["a character", "A", 2080],
    ["a wide character", "漢", 1040],
    ["a combined character", "e\u0301", 2080],
    ["nothing", "", 2080],
    ["a character in insert mode", `${CSI}4hA`, 2080],
  ])("repeats %s to at most two rows more than the screen", (_name, text, most) => {
    const [terminal, counts] = observed({ cols: 80, rows: 24 }, "b");
    write(terminal, `${text}${CSI}${LARGEST}b`);
    expect(counts["b"]).toBeLessThanOrEqual(most);
    expect(counts["b"]).toBeGreaterThan(most - 80);
  });

  test.each([
    ["in insert mode, where each moves a row", `${CSI}4hA`, 1000],
    ["with as many combining characters as fit", `e${"\u0301".repeat(8)}`, 33_333],
  ])("repeats less on a huge screen %s", (_name, text, most) => {
    const [terminal, counts] = observed({ cols: 1000, rows: 300 }, "b");
    write(terminal, `${text}${CSI}${LARGEST}b`);
    expect(counts["b"]).toBeLessThanOrEqual(most);
    expect(counts["b"]).toBeGreaterThan(0);
  });

  test.each([1, 2, 79, 80, 81, 2080])("stays what it is if it is %s", (count) => {
    const [terminal, counts] = observed({ cols: 80, rows: 24 }, "b");
    write(terminal, `A${CSI}${count}b`);
    expect(counts["b"]).toBe(count);
  });
});

/** Everything that a program or a person can notice. */
function looks(terminal: Terminal): unknown {
  const { active, normal } = terminal.buffer;
  const rows = (buffer: typeof active) =>
    Array.from({ length: terminal.rows }, (_, row) => {
      const line = buffer.getLine(buffer.baseY + row)!;
      const cells = Array.from({ length: terminal.cols }, (_, column) => {
        const cell = line.getCell(column)! as unknown as Record<"fg" | "bg", number> & {
          getChars(): string;
          getWidth(): number;
        };
        return `${cell.getChars()}/${cell.getWidth()}/${cell.fg}/${cell.bg}`;
      });
      return `${line.isWrapped} ${cells.join(" ")}`;
    });
  return {
    type: active.type,
    cursor: [active.cursorX, active.cursorY],
    active: rows(active),
    normal: active.type === "normal" ? [] : rows(normal),
    modes: terminal.modes,
  };
}

/** Sequences with counts, in every mode that changes their effect. */
function program(random: SeededRandom, length: number): string {
  const count = (): number => random.pick([0, 1, 2, 5, 17, 100, 999, random.between(1, 4000)]);
  const piece = (): string =>
    random.pick([
      () => random.pick(["text ", "漢字", "e\u0301", "A", "\r\n", "\t", "\b"]) + CSI + count() + "b",
      () => CSI + count() + random.pick("LMSTIZ@PXABCDEFGd`ae".split("")),
      () => `${CSI}${count()};${count()}H`,
      () => `${CSI}${random.between(0, 9)};${random.between(0, 9)}r`,
      () => `${CSI}${random.between(30, 47)}m`,
      () => `${CSI}?${random.pick([6, 7, 45, 1049])}${random.pick(["h", "l"])}`,
      () => `${CSI}4${random.pick(["h", "l"])}`,
      () => `${CSI}${random.pick(["", "?"])}${random.between(0, 3)}${random.pick(["J", "K"])}`,
      () => random.pick([`${CSI}3g`, "\u001bH", "\u001b7", "\u001b8", "\u001bM", "\u001bD", "\u001bc"]),
      () => `${CSI}${count()}${random.pick([" @", " A", "'}", "'~"])}`,
    ])();
  return Array.from({ length }, piece).join("");
}

test("whatever the counts are, the screen is the one of an emulator without bounds", () => {
  const random = new SeededRandom(runSeed);
  for (let round = 0; round < 300; round += 1) {
    const size = { cols: random.between(2, 30), rows: random.between(2, 9) };
    const [bounded, plain] = [emulator(size), emulator(size)];
    boundEmulator(bounded);
    const text = program(random, 30);
    let failure: unknown;
    try {
      write(plain, text);
    } catch (error) {
      // A fault of xterm.js, which the bounded one does not have.
      failure = error;
    }
    write(bounded, text);
    if (failure === undefined)
      expect(looks(bounded), `FAULT_SEED=${runSeed}: ${JSON.stringify({ size, text })}`).toEqual(
        looks(plain),
      );
    bounded.dispose();
    plain.dispose();
  }
});

test("a cell holds 8 combining characters; each further one has its own, which is not shown", () => {
  const terminal = emulator({ cols: 10, rows: 2 });
  boundEmulator(terminal);
  write(terminal, `e${"\u0301".repeat(8)}x${"\u0302".repeat(10)}y`);
  const line = terminal.buffer.active.getLine(0)!;
  const cells = Array.from({ length: 5 }, (_, column) => line.getCell(column)!);
  expect(cells.map((cell) => [cell.getChars(), cell.getWidth()])).toEqual([
    [`e${"\u0301".repeat(8)}`, 1],
    [`x${"\u0302".repeat(8)}`, 1],
    ["\u0302", 0],
    ["\u0302", 0],
    ["y", 1],
  ]);
});

test.each(["", "?"])("everything up to the last cell can be erased with CSI %s1 J", (prefix) => {
  // xterm.js fails on this if it has room for lines above the screen.
  const terminal = new headless.Terminal({ cols: 10, rows: 2, scrollback: 5, allowProposedApi: true });
  boundEmulator(terminal);
  write(terminal, `text${CSI}9;99H${CSI}${prefix}1Jy`);
  expect(terminal.buffer.active.getLine(0)!.translateToString(true)).toBe("");
  expect(terminal.buffer.active.getLine(1)!.translateToString(true)).toBe("         y");
});

test("the larger the screen, the less is read at once", () => {
  expect(sliceBytes({ cols: 80, rows: 24 })).toBe(208);
  expect(sliceBytes({ cols: 200, rows: 50 })).toBe(40);
  expect(sliceBytes({ cols: 1000, rows: 300 })).toBe(4);
  expect(sliceBytes({ cols: 1, rows: 1 })).toBe(256);
});

test("an emulator has at most 1000 columns and 300 rows", () => {
  expect(boundedGrid({ cols: 65_535, rows: 65_535 })).toEqual({ cols: 1000, rows: 300 });
  expect(boundedGrid({ cols: 80, rows: 24 })).toEqual({ cols: 80, rows: 24 });
});
