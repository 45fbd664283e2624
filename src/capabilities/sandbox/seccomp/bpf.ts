/**
 * An instruction of the kernel's packet filter, which system calls pass too. A jump counts the instructions to skip.
 */
export interface Instruction {
  readonly code: number;
  readonly whenTrue?: number;
  readonly whenFalse?: number;
  readonly value: number;
}

const INSTRUCTION_BYTES = 8;

export const OPCODES = {
  load: 0x20,
  and: 0x54,
  ifEqual: 0x15,
  ifAtLeast: 0x35,
  ifAnyBit: 0x45,
  finish: 0x06,
} as const;

// Offsets in the description of a system call, on the little-endian processors that Node supports.
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const ARGUMENTS_AT = 16;
const ARGUMENT_BYTES = 8;

export const loadNumber: Instruction = { code: OPCODES.load, value: NUMBER_AT };
export const loadArchitecture: Instruction = { code: OPCODES.load, value: ARCHITECTURE_AT };

/** The low 32 bits, which are all that the kernel itself looks at where a parameter is an `int`. */
export function loadArgument(index: number): Instruction {
  return { code: OPCODES.load, value: ARGUMENTS_AT + index * ARGUMENT_BYTES };
}

export function keepBits(mask: number): Instruction {
  return { code: OPCODES.and, value: mask };
}

export function finish(action: number): Instruction {
  return { code: OPCODES.finish, value: action };
}

type Test = "ifEqual" | "ifAtLeast" | "ifAnyBit";

/** Runs `then` if the loaded value passes the test, and continues behind it otherwise. */
export function when(test: Test, value: number, then: readonly Instruction[]): Instruction[] {
  return [{ code: OPCODES[test], whenFalse: then.length, value }, ...then];
}

export function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
  for (const [index, { code, whenTrue = 0, whenFalse = 0, value }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(whenTrue, at + 2);
    bytes.writeUInt8(whenFalse, at + 3);
    bytes.writeUInt32LE(value >>> 0, at + 4);
  }
  return bytes;
}
