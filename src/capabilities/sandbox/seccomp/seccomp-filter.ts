import type { NetworkMode } from "../policy/sandbox-policy.ts";
import { type Architecture, REFUSED, type SystemCall, systemCallNumber } from "./system-calls.ts";

/**
 * An instruction of the kernel's packet filter, which system calls pass too. A jump counts the instructions to skip.
 */
interface Instruction {
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

const loadNumber: Instruction = { code: OPCODES.load, value: NUMBER_AT };
const loadArchitecture: Instruction = { code: OPCODES.load, value: ARCHITECTURE_AT };

/** The low 32 bits, which are all that the kernel itself looks at where a parameter is an `int`. */
function loadArgument(index: number): Instruction {
  return { code: OPCODES.load, value: ARGUMENTS_AT + index * ARGUMENT_BYTES };
}

function keepBits(mask: number): Instruction {
  return { code: OPCODES.and, value: mask };
}

function finish(action: number): Instruction {
  return { code: OPCODES.finish, value: action };
}

type Test = "ifEqual" | "ifAtLeast" | "ifAnyBit";

/** Runs `then` if the loaded value passes the test, and continues behind it otherwise. */
function when(test: Test, value: number, then: readonly Instruction[]): Instruction[] {
  return [{ code: OPCODES[test], whenFalse: then.length, value }, ...then];
}

function assemble(program: readonly Instruction[]): Buffer {
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

const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const ERRNO = 0x0005_0000;
const EPERM = 1;
const ENOSYS = 38;

const refuse = finish(ERRNO | EPERM);
const allow = finish(ALLOW);

const AUDIT_ARCHITECTURES: Readonly<Record<Architecture, number>> = {
  x64: 0xc000_003e,
  arm64: 0xc000_00b7,
};

/** On x64, higher numbers enter the kernel through another table, which the rules below do not cover. */
const X32_NUMBERS = 0x4000_0000;

/** The flags of `mount` that detach mounts from the machine's: MS_REC and MS_PRIVATE, and no other. */
const MAKE_PRIVATE = 0x4_4000;

/** Flags of `clone` that create namespaces. */
const NEW_NAMESPACES = 0x7e02_0000;

// Both inject input into a terminal as if it had been typed.
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

/** Set-user-ID and set-group-ID. */
const SET_ID_BITS = 0o6000;
/** O_CREAT, and the bit of O_TMPFILE that is not O_DIRECTORY. */
const CREATES = 0o20000100;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_VSOCK = 40;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOCK_SEQPACKET = 5;
/** The rest of the type are flags. */
const SOCKET_TYPE_BITS = 0xf;

/** The filter of a sandbox, as the kernel takes it. */
export function seccompFilter(architecture: Architecture, network: NetworkMode): Buffer {
  const rule = (call: SystemCall, then: readonly Instruction[]): Instruction[] => {
    const number = systemCallNumber(call, architecture);
    return number === undefined ? [] : when("ifEqual", number, then);
  };
  return assemble([
    loadArchitecture,
    ...jumpOver("ifEqual", AUDIT_ARCHITECTURES[architecture], [finish(KILL)]),
    loadNumber,
    ...(architecture === "x64" ? when("ifAtLeast", X32_NUMBERS, [finish(KILL)]) : []),
    ...REFUSED.flatMap((call) => rule(call, [refuse])),
    // Harmless to others, and needed once, by the stage.
    ...rule("mount", [loadArgument(3), ...when("ifEqual", MAKE_PRIVATE, [allow]), refuse]),
    ...rule("clone", [loadArgument(0), ...when("ifAnyBit", NEW_NAMESPACES, [refuse]), allow]),
    // Its flags are in memory, where a filter cannot see them. C libraries then use `clone`.
    ...rule("clone3", [finish(ERRNO | ENOSYS)]),
    ...rule("ioctl", [
      loadArgument(1),
      ...when("ifEqual", TIOCSTI, [refuse]),
      ...when("ifEqual", TIOCLINUX, [refuse]),
      allow,
    ]),
    ...modeRules(rule),
    ...networkRules(network, rule),
    allow,
  ]);
}

/**
 * A program that is left behind with one of these bits would run as the user or the group of this sandbox for everyone
 * on the machine, outside of it. `mkdir` drops them by itself; a directory may inherit the bit of its parent.
 */
function modeRules(rule: Rule): Instruction[] {
  const changes = (argument: number): Instruction[] => [
    loadArgument(argument),
    ...when("ifAnyBit", SET_ID_BITS, [refuse]),
    allow,
  ];
  // The mode means nothing unless a file is created.
  const opens = (flags: number): Instruction[] => [
    loadArgument(flags),
    ...when("ifAnyBit", CREATES, changes(flags + 1)),
    allow,
  ];
  return [
    ...rule("chmod", changes(1)),
    ...rule("fchmod", changes(1)),
    ...rule("fchmodat", changes(2)),
    ...rule("fchmodat2", changes(2)),
    ...rule("creat", changes(1)),
    ...rule("mknod", changes(1)),
    ...rule("mknodat", changes(2)),
    ...rule("open", opens(1)),
    ...rule("openat", opens(2)),
    // Its mode is in memory, where a filter cannot see it. Programs then use `openat`.
    ...rule("openat2", [finish(ERRNO | ENOSYS)]),
  ];
}

type Rule = (call: SystemCall, then: readonly Instruction[]) => Instruction[];

function networkRules(network: NetworkMode, rule: Rule): Instruction[] {
  switch (network) {
    case "enabled":
      // It connects to the machine that hosts this one.
      return rule("socket", [loadArgument(0), ...when("ifEqual", AF_VSOCK, [refuse]), allow]);
    case "restricted":
      // Sockets inside the sandbox remain. A datagram socket could reach any path without `connect`.
      return [
        ...rule("connect", [refuse]),
        ...rule("socket", onlyUnixStreams),
        ...rule("socketpair", onlyUnixStreams),
      ];
    case "proxied":
      // Only the loopback of the sandbox exists. `connect` is needed, so there must be no sockets that take a path.
      return [
        ...rule("socket", [
          loadArgument(0),
          ...when("ifEqual", AF_INET, inetType),
          ...when("ifEqual", AF_INET6, inetType),
          refuse,
        ]),
        ...rule("socketpair", onlyUnixStreams),
      ];
  }
}

const streams: readonly Instruction[] = [
  loadArgument(1),
  keepBits(SOCKET_TYPE_BITS),
  ...when("ifEqual", SOCK_STREAM, [allow]),
];

const onlyUnixStreams: readonly Instruction[] = [
  loadArgument(0),
  ...when("ifEqual", AF_UNIX, [...streams, ...when("ifEqual", SOCK_SEQPACKET, [allow]), refuse]),
  refuse,
];

const inetType: readonly Instruction[] = [...streams, ...when("ifEqual", SOCK_DGRAM, [allow]), refuse];

/** Runs `otherwise` unless the loaded value passes the test. */
function jumpOver(test: "ifEqual", value: number, otherwise: readonly Instruction[]): readonly Instruction[] {
  const [jump] = when(test, value, []);
  return [{ ...jump!, whenTrue: otherwise.length }, ...otherwise];
}
