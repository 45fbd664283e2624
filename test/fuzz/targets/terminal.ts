import headless from "@xterm/headless";
import { Emulator } from "../../../src/capabilities/process/output/screen/emulator.ts";
import { paintScreen } from "../../../src/capabilities/process/output/screen/paint-screen.ts";
import { SeededRandom } from "../../fault/seeded-random.ts";
import { controlSequences, STATES } from "../../fixtures/extreme-sequences.ts";
import { Choices } from "../choices.ts";
import { expectEqual, type Target } from "../target.ts";

const PLAN_BYTES = 4;
const ESC = "\u001b";
const SIZES = [
  { rows: 4, columns: 12 },
  { rows: 2, columns: 5 },
  { rows: 3, columns: 80 },
];
/** Enough of either to see what the next output does. */
const PROBES = ["x", `${ESC}[1;1Hy`, "\u6f22", `\r\n${ESC}[31mz`];

/** The rows as they look: a combining character that has no other one before it takes a cell, and is not shown. */
function screenOf({ buffer: { active }, rows, cols }: headless.Terminal): string[] {
  return Array.from({ length: rows }, (_, row) => {
    const line = active.getLine(active.baseY + row)!;
    let text = "";
    for (let column = 0; column < cols; column += 1) {
      const cell = line.getCell(column)!;
      const isSecondHalf = cell.getWidth() === 0 && column > 0 && line.getCell(column - 1)!.getWidth() === 2;
      if (!isSecondHalf) text += (cell.getWidth() > 0 && cell.getChars()) || " ";
    }
    return text.trimEnd();
  });
}

async function open(size: (typeof SIZES)[number], ...inputs: readonly Uint8Array[]): Promise<Emulator> {
  const emulator = await Emulator.open(size, () => {});
  for (const bytes of inputs) if (bytes.length > 0) emulator.write(bytes);
  await emulator.whenRead(() => {});
  return emulator;
}

function stateOf({ terminal }: Emulator): unknown {
  const { cursorX, cursorY, type } = terminal.buffer.active;
  // A combining character in the last column puts the cursor behind it.
  const cursor = [Math.min(cursorX, terminal.cols), cursorY];
  return { screen: screenOf(terminal), cursor, type };
}

/** How many bytes an ideograph at the end lacks. */
function missingBytes(bytes: Buffer): number {
  const [last, middle] = /([\xe4-\xe9])([\x80-\xbf]?)$/.exec(bytes.toString("latin1"))?.slice(1) ?? [];
  return last === undefined ? 0 : middle === "" ? 2 : 1;
}

/**
 * A terminal that a client opens in the middle of the output shows what one shows that has seen everything, then and
 * after more output. The first bytes of an input say where the middle is.
 */
export const target: Target = {
  seeds: [
    Buffer.concat([
      Buffer.from([0, 0, 8, 0]),
      Buffer.from("some \u6f22\u5b57 e\u0301 \ud83d\ude00 more\r\n"),
    ]),
    Buffer.concat([
      Buffer.from([0, 0, 20, 1]),
      Buffer.from(`${ESC}[31mred${ESC}[0m${ESC}[?1049h${ESC}[2;3Halt${ESC}7${ESC}[r`),
    ]),
    Buffer.concat([
      Buffer.from([2, 0, 12, 2]),
      Buffer.from(`${ESC}(0lqk${ESC}(B${ESC}]0;title\u0007${ESC}[?25l${ESC}[4h`),
    ]),
    ...Object.values(STATES).map((state) => Buffer.from(`\0\0\u0003\0${state}text`)),
  ],
  words: [
    ...Object.values(STATES),
    ...controlSequences(new SeededRandom(1)).slice(0, 400),
    "\u6f22",
    "e\u0301",
    "\ud83d\ude00",
    "\r",
    "\n",
    "\b",
    "\t",
    `${ESC}[?7l`,
    `${ESC}[?1049h`,
    `${ESC}[?1049l`,
    `${ESC}c`,
  ].filter((word) => word !== ""),
  maxBytes: 400,
  async run(input) {
    const choices = new Choices(input.subarray(0, PLAN_BYTES));
    const size = choices.pick(SIZES);
    const bytes = input.subarray(PLAN_BYTES);
    const middle = choices.below(0x1_0000) % (bytes.length + 1);
    const probe = Buffer.from(choices.pick(PROBES));
    const watching = await open(size, bytes.subarray(0, middle));
    const painted = await watching.whenRead(() => paintScreen(watching));
    if (watching.damaged) throw new Error("the emulator failed");
    const joining = await open(size, painted);
    expectEqual(stateOf(joining), stateOf(watching), "the screen of a client that joins");
    // Others may combine with the character before, which a painted screen does not continue.
    const missing = missingBytes(bytes.subarray(0, middle));
    if (missing === 0) return;
    const more = Buffer.concat([Buffer.alloc(missing, 0xa2), probe]);
    const [one, other] = [await open(size, bytes.subarray(0, middle), more), await open(size, painted, more)];
    expectEqual(stateOf(other), stateOf(one), "the screen after more output");
  },
};
