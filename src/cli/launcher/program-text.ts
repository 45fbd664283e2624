/** Begins a comment, so that Node does not compile what the launcher is about to take from a cache. Written so that the launcher itself is free of it. */
const BEGIN = Buffer.from("0a2f2a0a", "hex");
const END = "\n*/\n";

/** Stands for the slash of an end of comment in the program, which has no such character. */
const SLASH_STAND_IN = 0x01;
const SLASH = 0x2f;

/** Takes the program from the bytes of its file: in place, and with every character in the column where the file has it. */
export function extractProgram(file: Buffer): { bytes: Buffer; line: number } {
  const begin = file.indexOf(BEGIN) + BEGIN.length;
  const bytes = file.subarray(begin, file.length - END.length);
  for (let at = bytes.indexOf(SLASH_STAND_IN); at !== -1; at = bytes.indexOf(SLASH_STAND_IN, at))
    bytes[at] = SLASH;
  return { bytes, line: countLines(file.subarray(0, begin)) };
}

/** The file of a launcher and its program. The program must be ASCII. */
export function joinProgram(launcher: string, program: string): string {
  const begin = BEGIN.toString("latin1");
  if (launcher.includes(begin)) throw new Error("the launcher looks as if the program began in it");
  // oxlint-disable-next-line no-control-regex
  if (/[\x01\x80-\uffff]/.test(program))
    throw new Error("the program has characters that its file cannot hold");
  return `${launcher}${begin}${program.replaceAll("*/", `*${String.fromCharCode(SLASH_STAND_IN)}`)}${END}`;
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf("\n"); at !== -1; at = bytes.indexOf("\n", at + 1)) lines += 1;
  return lines;
}
