/** Processors for which a filter can be assembled. */
export type Architecture = "x64" | "arm64";

/** Numbers of a system call. One that a processor does not have is undefined there. */
type Numbers = readonly [x64: number, arm64: number | undefined];

/** Calls that sandboxed programs do not need and that reach other processes, mounts, keys or the kernel itself. */
const REFUSED_NUMBERS = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  umount2: [166, 39],
  pivot_root: [155, 41],
  move_mount: [429, 429],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  unshare: [272, 97],
  setns: [308, 268],
  open_by_handle_at: [304, 265],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  acct: [163, 89],
  swapon: [167, 224],
  swapoff: [168, 225],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  iopl: [172, undefined],
  ioperm: [173, undefined],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  syslog: [103, 116],
  vhangup: [153, 58],
} as const satisfies Record<string, Numbers>;

/** Calls that depend on their arguments, or on the program's network. */
const SYSTEM_CALLS = {
  ...REFUSED_NUMBERS,
  chmod: [90, undefined],
  clone: [56, 220],
  clone3: [435, 435],
  connect: [42, 203],
  creat: [85, undefined],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  ioctl: [16, 29],
  mknod: [133, undefined],
  mknodat: [259, 33],
  mount: [165, 40],
  open: [2, undefined],
  openat: [257, 56],
  openat2: [437, 437],
  socket: [41, 198],
  socketpair: [53, 199],
} as const satisfies Record<string, Numbers>;

export type SystemCall = keyof typeof SYSTEM_CALLS;

export const REFUSED = Object.keys(REFUSED_NUMBERS) as SystemCall[];

export function systemCallNumber(call: SystemCall, architecture: Architecture): number | undefined {
  return SYSTEM_CALLS[call][architecture === "x64" ? 0 : 1];
}
