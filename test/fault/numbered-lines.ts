/** The output of `seq first last`. */
export function numberedLines(first: number, last: number): Buffer {
  const lines: string[] = [];
  for (let i = first; i <= last; i++) lines.push(`${i}\n`);
  return Buffer.from(lines.join(""), "latin1");
}

/** The same as a terminal shows it. */
export const onTerminal = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.toString("latin1").replaceAll("\n", "\r\n"), "latin1");

/** Fifteen digits and a newline: any 31 bytes of such lines show where in the output they belong. */
export const FIRST_FIXED_WIDTH = 100_000_000_000_000;
const FIXED_WIDTH = 16;

/** Where a piece of fixed-width lines begins in the whole, judged by its first whole line. */
export function fixedWidthOffset(piece: Buffer): number {
  const lineAt = piece.indexOf(0x0a) + 1;
  const line = piece.toString("latin1", lineAt, lineAt + FIXED_WIDTH - 1);
  return (Number(line) - FIRST_FIXED_WIDTH) * FIXED_WIDTH - lineAt;
}
