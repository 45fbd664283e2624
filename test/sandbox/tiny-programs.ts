/** An ELF program for x64 that consists of this code. It exits with 0 if the system call succeeds. */
function program(code: readonly number[]): Buffer {
  const start = 0x40_0000;
  const headers = 64 + 56;
  const file = Buffer.alloc(headers + code.length);
  file.write("\u007fELF", 0, "latin1");
  file.set([2, 1, 1], 4); // 64 bits, little endian, version
  file.writeUInt16LE(2, 16); // executable
  file.writeUInt16LE(62, 18); // x86-64
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(start + headers), 24); // entry
  file.writeBigUInt64LE(64n, 32); // program headers
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(1, 64); // loaded
  file.writeUInt32LE(5, 68); // readable, executable
  file.writeBigUInt64LE(BigInt(start), 80);
  file.writeBigUInt64LE(BigInt(start), 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x1000n, 112);
  file.set(code, headers);
  return file;
}

const little = (value: number): number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff);
const setEax = (value: number): number[] => [0xb8, ...little(value)];
/** `test eax, eax; sets dil; movzx edi, dil; mov eax, 231; syscall`: exit_group with 1 for a negative result. */
const exitByResult = [0x85, 0xc0, 0x40, 0x0f, 0x98, 0xc7, 0x40, 0x0f, 0xb6, 0xff, ...setEax(231), 0x0f, 0x05];
const int80 = [0xcd, 0x80];
const syscall = [0x0f, 0x05];

/** `ebx`, `ecx` and `edx` of a 32-bit call. */
const arguments32 = (a: number, b: number, c: number): number[] =>
  [
    [0xbb, ...little(a)],
    [0xb9, ...little(b)],
    [0xba, ...little(c)],
  ].flat();
/** `edi`, `esi` and `edx` of a 64-bit call. */
const arguments64 = (a: number, b: number, c: number): number[] =>
  [
    [0xbf, ...little(a)],
    [0xbe, ...little(b)],
    [0xba, ...little(c)],
  ].flat();

const AF_INET = 2;
const SOCK_STREAM = 1;
const X32_BIT = 0x4000_0000;

/** Programs that enter the kernel by doors that a filter can forget. */
export const TINY_PROGRAMS: Readonly<Record<string, Buffer>> = {
  "socket-32": program([...setEax(359), ...arguments32(AF_INET, SOCK_STREAM, 0), ...int80, ...exitByResult]),
  "ptrace-32": program([...setEax(26), ...arguments32(0, 0, 0), ...int80, ...exitByResult]),
  "socket-x32": program([
    ...setEax(X32_BIT + 41),
    ...arguments64(AF_INET, SOCK_STREAM, 0),
    ...syscall,
    ...exitByResult,
  ]),
};
