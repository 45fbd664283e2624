import { hasFreeDescriptors } from "./descriptor-reserve.ts";
import { ERRNO, osError } from "./os-error.ts";
import { loadFfiLibrary } from "./platform.ts";
import { type StructureCalls, structureCalls } from "./structure-calls.ts";

/** A C function with an integer result. Buffers are passed as pointers. */
type IntCall<Args extends unknown[]> = (...args: Args) => number;

/**
 * C functions that Node does not expose: above all posix_spawn, which does not copy the server's page tables as fork
 * does.
 */
export interface Libc extends StructureCalls {
  posixSpawn: IntCall<PosixSpawnArguments>;
  /** The same on another thread. The buffers must live until the callback. */
  posixSpawnAsync: (
    ...args: [...PosixSpawnArguments, done: (error: Error | null, errno: number) => void]
  ) => void;
  actionsInit: IntCall<[Buffer]>;
  actionsDestroy: IntCall<[Buffer]>;
  actionsOpen: IntCall<[Buffer, fd: number, path: string, flags: number, mode: number]>;
  actionsDup2: IntCall<[Buffer, from: number, to: number]>;
  actionsChdir: IntCall<[Buffer, path: Buffer]>;
  attributesInit: IntCall<[Buffer]>;
  attributesSetFlags: IntCall<[Buffer, number]>;
  attributesSetDefaultSignals: IntCall<[Buffer, Buffer]>;
  attributesSetSignalMask: IntCall<[Buffer, Buffer]>;
  signalSetFill: IntCall<[Buffer]>;
  signalSetEmpty: IntCall<[Buffer]>;
  pipe2: IntCall<[fds: Int32Array, flags: number]>;
  socket: IntCall<[domain: number, type: number, protocol: number]>;
  socketPair: IntCall<[domain: number, type: number, protocol: number, fds: Int32Array]>;
  getsockopt: IntCall<[fd: number, level: number, name: number, value: Int32Array, length: Uint32Array]>;
  getsockname: IntCall<[fd: number, address: Buffer, length: Uint32Array]>;
  connect: IntCall<[fd: number, address: Buffer, length: number]>;
  fcntl: IntCall<[fd: number, command: number, argument: number]>;
  flock: IntCall<[fd: number, operation: number]>;
  ioctl: IntCall<[fd: number, request: number, argument: Buffer]>;
  /** Makes a file share the contents of another one, where the file system can. */
  cloneFile: IntCall<[to: number, request: number, from: number]>;
  /** The result is a `struct statfs`. */
  fstatfs: IntCall<[fd: number, result: BigUint64Array]>;
  openPseudoTerminal: IntCall<[flags: number]>;
  grantPseudoTerminal: IntCall<[fd: number]>;
  unlockPseudoTerminal: IntCall<[fd: number]>;
  pseudoTerminalName: IntCall<[fd: number, name: Buffer, size: number]>;
  memfdCreate: IntCall<[name: string, flags: number]>;
  /** Memory shared with a file; the offset is a multiple of the page size. Undefined if the system refuses. */
  mapShared: (fd: number, bytes: number, offset: number) => Uint8Array | undefined;
  statx: IntCall<[directory: number, path: Buffer, flags: number, mask: number, result: Uint8Array]>;
  access: IntCall<[path: string, mode: number]>;
  kill: IntCall<[pid: number, signal: number]>;
  poll: IntCall<[descriptors: Int32Array, count: number, timeoutMs: number]>;
  sysconf: IntCall<[name: number]>;
  clockGettime: IntCall<[clock: number, time: BigInt64Array]>;
  waitid: IntCall<[idType: number, id: number, info: Buffer, options: number]>;
  wait4: IntCall<[pid: number, status: Int32Array, options: number, usage: BigInt64Array]>;
  prlimit: IntCall<[pid: number, resource: number, limit: BigUint64Array | null, old: BigUint64Array | null]>;
  prctl: IntCall<[option: number, a: number, b: number, c: number, d: number]>;
  capget: IntCall<[header: Uint32Array, data: Uint32Array]>;
  capset: IntCall<[header: Uint32Array, data: Uint32Array]>;
  /** Paths are bytes with a terminating NUL. */
  openat: IntCall<[directory: number, path: Buffer, flags: number, mode: number]>;
  mkdirat: IntCall<[directory: number, path: Buffer, mode: number]>;
  unlinkat: IntCall<[directory: number, path: Buffer, flags: number]>;
  linkat: IntCall<[fromDirectory: number, from: Buffer, toDirectory: number, to: Buffer, flags: number]>;
  renameat: IntCall<[fromDirectory: number, from: Buffer, toDirectory: number, to: Buffer]>;
  /** The result is a handle, or 0 if the locale does not exist. */
  newLocale: IntCall<[mask: number, name: string, base: null]>;
  faccessat: IntCall<[directory: number, path: Buffer, mode: number, flags: number]>;
  fchmod: IntCall<[fd: number, mode: number]>;
  close: IntCall<[fd: number]>;
  fallocate: IntCall<[fd: number, mode: number, offset: number, length: number]>;
  listxattr: IntCall<[path: Buffer, list: Buffer, size: number]>;
  read: IntCall<[fd: number, buffer: Buffer, size: number]>;
  write: IntCall<[fd: number, buffer: Uint8Array, size: number]>;
  pwrite: IntCall<[fd: number, buffer: Uint8Array, size: number, offset: number]>;
  /** A system call that the C library lacks. `how` is a `struct open_how`. */
  openat2: IntCall<[number: number, directory: number, path: Buffer, how: BigUint64Array, size: number]>;
  /** For calls that the C library lacks, at least on some systems. */
  systemCall: IntCall<[number: number, a: number, b: number, c: number]>;
  /** Error number of the last failed call. */
  errno(): number;
}

type PosixSpawnArguments = [
  pid: Int32Array,
  path: string,
  actions: Buffer,
  attributes: Buffer,
  argv: CStrings,
  env: CStrings,
];

/** A null-terminated vector of C strings. */
export type CStrings = readonly (string | null)[];

type Declared = Exclude<keyof Libc, keyof StructureCalls | "errno" | "posixSpawnAsync" | "mapShared">;

const SIGNATURES: Readonly<Record<Declared, string>> = {
  posixSpawn:
    "int posix_spawn(void *pid, const char *path, void *actions, void *attributes, const char **argv, const char **env)",
  actionsInit: "int posix_spawn_file_actions_init(void *actions)",
  actionsDestroy: "int posix_spawn_file_actions_destroy(void *actions)",
  actionsOpen:
    "int posix_spawn_file_actions_addopen(void *actions, int fd, const char *path, int flags, unsigned int mode)",
  actionsDup2: "int posix_spawn_file_actions_adddup2(void *actions, int from, int to)",
  actionsChdir: "int posix_spawn_file_actions_addchdir_np(void *actions, const void *path)",
  attributesInit: "int posix_spawnattr_init(void *attributes)",
  attributesSetFlags: "int posix_spawnattr_setflags(void *attributes, short flags)",
  attributesSetDefaultSignals: "int posix_spawnattr_setsigdefault(void *attributes, void *set)",
  attributesSetSignalMask: "int posix_spawnattr_setsigmask(void *attributes, void *set)",
  signalSetFill: "int sigfillset(void *set)",
  signalSetEmpty: "int sigemptyset(void *set)",
  pipe2: "int pipe2(void *fds, int flags)",
  socket: "int socket(int domain, int type, int protocol)",
  socketPair: "int socketpair(int domain, int type, int protocol, void *fds)",
  getsockopt: "int getsockopt(int fd, int level, int name, void *value, void *length)",
  getsockname: "int getsockname(int fd, void *address, void *length)",
  connect: "int connect(int fd, const void *address, unsigned int length)",
  flock: "int flock(int fd, int operation)",
  fcntl: "int fcntl(int fd, int command, int argument)",
  ioctl: "int ioctl(int fd, unsigned long request, void *argument)",
  cloneFile: "int ioctl(int to, unsigned long request, int from)",
  fstatfs: "int fstatfs(int fd, void *result)",
  openPseudoTerminal: "int posix_openpt(int flags)",
  grantPseudoTerminal: "int grantpt(int fd)",
  unlockPseudoTerminal: "int unlockpt(int fd)",
  pseudoTerminalName: "int ptsname_r(int fd, void *name, size_t size)",
  memfdCreate: "int memfd_create(const char *name, unsigned int flags)",
  statx: "int statx(int directory, const void *path, int flags, unsigned int mask, void *result)",
  access: "int access(const char *path, int mode)",
  kill: "int kill(int pid, int signal)",
  poll: "int poll(void *descriptors, unsigned long count, int timeoutMs)",
  sysconf: "long sysconf(int name)",
  clockGettime: "int clock_gettime(int clock, void *time)",
  waitid: "int waitid(int idType, int id, void *info, int options)",
  wait4: "int wait4(int pid, void *status, int options, void *usage)",
  prlimit: "int prlimit(int pid, int resource, void *limit, void *old)",
  prctl: "int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)",
  capget: "int capget(void *header, void *data)",
  capset: "int capset(void *header, void *data)",
  openat: "int openat(int directory, const void *path, int flags, unsigned int mode)",
  mkdirat: "int mkdirat(int directory, const void *path, unsigned int mode)",
  unlinkat: "int unlinkat(int directory, const void *path, int flags)",
  linkat: "int linkat(int fromDirectory, const void *from, int toDirectory, const void *to, int flags)",
  renameat: "int renameat(int fromDirectory, const void *from, int toDirectory, const void *to)",
  newLocale: "long newlocale(int mask, const char *name, void *base)",
  faccessat: "int faccessat(int directory, const void *path, int mode, int flags)",
  fchmod: "int fchmod(int fd, unsigned int mode)",
  close: "int close(int fd)",
  fallocate: "int fallocate(int fd, int mode, long offset, long length)",
  listxattr: "long listxattr(const void *path, void *list, size_t size)",
  read: "long read(int fd, void *buffer, size_t size)",
  write: "long write(int fd, void *buffer, size_t size)",
  pwrite: "long pwrite(int fd, void *buffer, size_t size, long offset)",
  openat2: "long syscall(long number, long directory, const void *path, void *how, size_t size)",
  systemCall: "long syscall(long number, unsigned long a, unsigned long b, unsigned long c)",
};

const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_SHARED = 1;
const MAP_FAILED = 2n ** 64n - 1n;

/** Maximum number of concurrent calls on other threads: the size of Node's thread pool. */
export const MAX_ASYNC_CALLS = 4;

let loaded: Libc | undefined;

/** Loaded on first use: the FFI library takes about 15 ms, which a server need not spend before it listens. */
export function libc(): Libc {
  loaded ??= loadIfPossible();
  return loaded;
}

/** The result of a C function; throws the system's error if it failed. */
export function check(result: number): number {
  if (result < 0) throw osError(libc().errno());
  return result;
}

/** A string for C functions: bytes with a terminating NUL. */
export function toCString(text: string | Uint8Array): Buffer {
  return typeof text === "string" ? Buffer.from(`${text}\0`) : Buffer.concat([text, Buffer.alloc(1)]);
}

/** Node's error for a library file that it cannot open differs from file to file. */
function loadIfPossible(): Libc {
  try {
    return load();
  } catch (error) {
    throw hasFreeDescriptors() ? error : osError(ERRNO.EMFILE);
  }
}

function load(): Libc {
  const koffi = loadFfiLibrary();
  // Memory for calls on other threads is kept for the maximum number of concurrent calls; otherwise each call maps and
  // unmaps its own.
  koffi.config({ resident_async_pools: MAX_ASYNC_CALLS, max_async_calls: MAX_ASYNC_CALLS * 4 });
  const library = koffi.load(null);
  const functions: Record<string, unknown> = { errno: () => koffi.errno() };
  for (const [name, signature] of Object.entries(SIGNATURES)) functions[name] = library.func(signature);
  const mmap = library.func(
    "void *mmap(void *address, size_t bytes, int protection, int flags, int fd, long offset)",
  );
  functions["mapShared"] = (fd: number, bytes: number, offset: number) => {
    const memory: unknown = mmap(null, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return koffi.address(memory) === MAP_FAILED ? undefined : new Uint8Array(koffi.view(memory, bytes));
  };
  Object.assign(functions, structureCalls(koffi, library));
  functions["posixSpawnAsync"] = (functions["posixSpawn"] as { async: unknown }).async;
  // Each function was created from the signature beside its name.
  return functions as unknown as Libc;
}
