import { statfsSync } from "node:fs";
import { check, libc } from "../../native/libc.ts";
import type { NativePath } from "./native-path.ts";

/** Shows the memory, the environment and the open files of processes. */
export const PROC = 0x9fa0;
const SYS = 0x6265_6572;
const DEVPTS = 0x1cd1;

/** File systems whose changes the kernel does not report. */
const SILENT = new Set([PROC, SYS, DEVPTS]);

/** File systems whose files hold no data: writing one acts on the kernel, a process or a device. */
const OF_KERNEL = new Set([
  PROC,
  SYS,
  0x6367_7270, // cgroup2
  0x27_e0eb, // cgroup
  0x6462_6720, // debugfs
  0x7472_6163, // tracefs
  0x7363_6673, // securityfs
  0xf97c_ff8c, // selinuxfs
  0x4341_5d53, // smackfs
  0x6265_6570, // configfs
  0xcafe_4a11, // bpf
  0xde5e_81e4, // efivarfs
  0x6165_676c, // pstore
  0x4249_4e4d, // binfmt_misc
  0x0765_5821, // resctrl
  0x6573_5543, // fusectl
  0x6c6f_6f70, // binder
  0x6e66_7364, // nfsd
  0x6759_6969, // rpc_pipefs
  0xabba_1974, // xenfs
  0x6e73_6673, // nsfs
  0x0904_1934, // anonymous inodes
  // A pipe without a name, such as one through which a program talks to its parent.
  0x5049_5045,
]);

export function isOfKernel(type: number): boolean {
  return OF_KERNEL.has(type);
}

export function isSilent(path: NativePath): boolean {
  return SILENT.has(statfsSync(path).type);
}

const result = new BigUint64Array(32);

/** The type of the file system on which something open is. */
export function fileSystemOf(fd: number): number {
  check(libc().fstatfs(fd, result));
  return Number(result[0]);
}
