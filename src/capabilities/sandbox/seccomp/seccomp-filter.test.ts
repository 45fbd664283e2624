import { describe, expect, it } from "vitest";
import { OPCODES, seccompFilter } from "./seccomp-filter.ts";
import { type Architecture, type SystemCall, systemCallNumber } from "./system-calls.ts";
import type { NetworkMode } from "../policy/sandbox-policy.ts";

const ARCHITECTURES: readonly Architecture[] = ["x64", "arm64"];
const NETWORKS: readonly NetworkMode[] = ["restricted", "enabled", "proxied"];
const AUDIT = { x64: 0xc000_003e, arm64: 0xc000_00b7, i386: 0x4000_0003 };
const ALLOWED = "allowed";
const KILLED = "killed";

interface Call {
  readonly number: number;
  readonly architecture: number;
  readonly args?: readonly bigint[];
}

/** Runs a filter as the kernel does. */
function run(filter: Buffer, { number, architecture, args = [] }: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(value, 16 + index * 8);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const [whenTrue = 0, whenFalse = 0] = [filter[at * 8 + 2], filter[at * 8 + 3]];
    const value = filter.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean): number => (holds ? whenTrue : whenFalse);
    if (code === OPCODES.load) accumulator = data.readUInt32LE(value);
    else if (code === OPCODES.and) accumulator = (accumulator & value) >>> 0;
    else if (code === OPCODES.ifEqual) at += jump(accumulator === value);
    else if (code === OPCODES.ifAtLeast) at += jump(accumulator >= value);
    else if (code === OPCODES.ifAnyBit) at += jump((accumulator & value) !== 0);
    else if (code === OPCODES.finish)
      return value === 0x7fff_0000 ? ALLOWED : value === 0x8000_0000 ? KILLED : `errno ${value - 0x5_0000}`;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the filter has no end");
}

function decide(
  call: SystemCall,
  args: readonly bigint[] = [],
  network: NetworkMode = "restricted",
): readonly string[] {
  const found = ARCHITECTURES.flatMap((architecture) => {
    const number = systemCallNumber(call, architecture);
    return number === undefined
      ? []
      : [run(seccompFilter(architecture, network), { number, architecture: AUDIT[architecture], args })];
  });
  return [...new Set(found)];
}

const AF = { unix: 1n, inet: 2n, inet6: 10n, netlink: 16n, packet: 17n, vsock: 40n };
const STREAM = 1n;
const DATAGRAM = 2n;
const RAW = 3n;
const SEQUENTIAL = 5n;
const CLOSE_ON_EXEC = 0o2000000n;

describe("the filter", () => {
  it.each(NETWORKS)("kills what enters the kernel as another processor, with network %s", (network) => {
    for (const architecture of ARCHITECTURES) {
      const filter = seccompFilter(architecture, network);
      expect(run(filter, { number: 20, architecture: AUDIT.i386 })).toBe(KILLED);
      const other = architecture === "x64" ? "arm64" : "x64";
      expect(run(filter, { number: 20, architecture: AUDIT[other] })).toBe(KILLED);
    }
    const filter = seccompFilter("x64", network);
    expect(run(filter, { number: 0x4000_0000 + 20, architecture: AUDIT.x64 })).toBe(KILLED);
  });

  it.each<SystemCall>([
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "io_uring_setup",
    "keyctl",
    "bpf",
    "umount2",
    "move_mount",
    "fsopen",
    "open_tree",
    "unshare",
    "setns",
  ])("refuses %s in every mode", (call) => {
    for (const network of NETWORKS) expect(decide(call, [], network)).toEqual(["errno 1"]);
  });

  it("allows mount to make mounts private, and nothing else", () => {
    const mount = (flags: bigint) => decide("mount", [0n, 0n, 0n, flags, 0n]);
    const [recursive, isPrivate, bind, remount, shared] = [0x4000n, 0x40000n, 0x1000n, 0x20n, 0x100000n];
    expect(mount(recursive | isPrivate)).toEqual([ALLOWED]);
    for (const flags of [0n, isPrivate, recursive, recursive | bind, recursive | isPrivate | remount, shared])
      expect(mount(flags)).toEqual(["errno 1"]);
  });

  it("lets programs start threads and processes, but no namespaces", () => {
    const thread = 0x3d0f00n;
    const process = 17n;
    expect(decide("clone", [thread])).toEqual([ALLOWED]);
    expect(decide("clone", [process])).toEqual([ALLOWED]);
    for (const bit of [17n, 25n, 26n, 27n, 28n, 29n, 30n])
      expect(decide("clone", [process | (1n << bit)])).toEqual(["errno 1"]);
    expect(decide("clone3")).toEqual(["errno 38"]);
  });

  it("refuses to type into a terminal, whatever the upper half of the number is", () => {
    for (const high of [0n, 1n << 32n, 0xffff_ffffn << 32n]) {
      expect(decide("ioctl", [0n, 0x5412n | high])).toEqual(["errno 1"]);
      expect(decide("ioctl", [0n, 0x541cn | high])).toEqual(["errno 1"]);
      expect(decide("ioctl", [0n, 0x5413n | high])).toEqual([ALLOWED]);
    }
  });

  it.each([0o4755n, 0o2755n, 0o6000n])(
    "lets nobody make a file that runs as its owner or group: %o",
    (setId) => {
      const plain = 0o1777n;
      const modes = {
        chmod: 1,
        fchmod: 1,
        fchmodat: 2,
        fchmodat2: 2,
        creat: 1,
        mknod: 1,
        mknodat: 2,
      } as const;
      for (const [call, index] of Object.entries(modes) as [SystemCall, number][]) {
        const args = (mode: bigint) =>
          Array.from({ length: index + 1 }, (_, at) => (at === index ? mode : 0n));
        expect(decide(call, args(setId))).toEqual(["errno 1"]);
        expect(decide(call, args(plain))).toEqual([ALLOWED]);
      }
      const create = 0o101n;
      const withoutName = 0o20000001n;
      for (const flags of [create, withoutName]) {
        expect(decide("openat", [0n, 0n, flags, setId])).toEqual(["errno 1"]);
        expect(decide("openat", [0n, 0n, flags, plain])).toEqual([ALLOWED]);
        expect(decide("open", [0n, flags, setId])).toEqual(["errno 1"]);
      }
      // Without a new file, the argument is whatever happens to be there.
      expect(decide("openat", [0n, 0n, 0n, setId])).toEqual([ALLOWED]);
      expect(decide("openat2")).toEqual(["errno 38"]);
    },
  );

  it("leaves only connected sockets within the sandbox when the network is restricted", () => {
    expect(decide("socket", [AF.unix, STREAM | CLOSE_ON_EXEC])).toEqual([ALLOWED]);
    expect(decide("socketpair", [AF.unix, SEQUENTIAL])).toEqual([ALLOWED]);
    expect(decide("socket", [AF.unix, DATAGRAM])).toEqual(["errno 1"]);
    expect(decide("socketpair", [AF.unix, DATAGRAM | CLOSE_ON_EXEC])).toEqual(["errno 1"]);
    for (const family of [AF.inet, AF.inet6, AF.netlink, AF.packet, AF.vsock])
      expect(decide("socket", [family, STREAM])).toEqual(["errno 1"]);
    expect(decide("connect")).toEqual(["errno 1"]);
    expect(decide("socket", [AF.inet | (1n << 32n), STREAM])).toEqual(["errno 1"]);
  });

  it("leaves only IP when there is a proxy", () => {
    for (const family of [AF.inet, AF.inet6]) {
      expect(decide("socket", [family, STREAM], "proxied")).toEqual([ALLOWED]);
      expect(decide("socket", [family, DATAGRAM], "proxied")).toEqual([ALLOWED]);
      expect(decide("socket", [family, RAW], "proxied")).toEqual(["errno 1"]);
    }
    for (const family of [AF.unix, AF.netlink, AF.packet, AF.vsock])
      expect(decide("socket", [family, STREAM], "proxied")).toEqual(["errno 1"]);
    expect(decide("connect", [], "proxied")).toEqual([ALLOWED]);
    expect(decide("socketpair", [AF.unix, DATAGRAM], "proxied")).toEqual(["errno 1"]);
  });

  it("leaves sockets alone when the network is enabled, except those to the host of a virtual machine", () => {
    for (const family of [AF.unix, AF.inet, AF.inet6, AF.netlink])
      expect(decide("socket", [family, DATAGRAM], "enabled")).toEqual([ALLOWED]);
    expect(decide("connect", [], "enabled")).toEqual([ALLOWED]);
    expect(decide("socket", [AF.vsock, STREAM], "enabled")).toEqual(["errno 1"]);
  });
});
