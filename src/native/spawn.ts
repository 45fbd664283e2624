import { closeSync, readdirSync, statSync } from "node:fs";
import { CapabilityError } from "../base/errors.ts";
import { ERRNO, isErrno, osError } from "./os-error.ts";
import { check, type CStrings, libc, toCString } from "./libc.ts";

// Linux values that are the same on every processor that Node supports.
const O_RDWR = 2;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
const F_GETFD = 1;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const F_GETFL = 3;
const F_SETFL = 4;
const F_DUPFD_CLOEXEC = 1030;
const CLOSE_RANGE = 436;
const CLOSE_RANGE_CLOEXEC = 4;
const ALL_ABOVE = 0xffff_ffff;
const AT_EMPTY_PATH = 0x1000;
const STATX_INO = 0x100;
const STATX_INO_WORD = 4;
const TCGETS = 0x5401;
const TCSETS = 0x5402;
const TIOCSWINSZ = 0x5414;
const IUTF8 = 0x4000;
const SPAWN_SETSIGDEF = 0x04;
const SPAWN_SETSIGMASK = 0x08;
const SPAWN_SETSID = 0x80;

const SC_PAGESIZE = 30;
const MAX_TEXT_PAGES = 32;
const POINTER_BYTES = 8;
const MIN_ARGUMENT_BYTES = 128 * 1024;
const MAX_ARGUMENT_BYTES = 6 * 1024 * 1024;
const RLIMIT_STACK = 3;

// Larger than the structures of any C library, so their exact size need not be known.
const ACTIONS_BYTES = 256;
const ATTRIBUTES_BYTES = 1024;
const SIGNAL_SET_BYTES = 256;

/** The file to execute; not a name to look up. */
export interface Program {
  readonly path: string;
  readonly argv: readonly string[];
  /** `NAME=value` each. */
  readonly env: readonly string[];
  /** Bytes if it is not UTF-8. */
  readonly cwd: string | Uint8Array;
  /** Further descriptors for the child, under the given numbers. */
  readonly descriptors?: readonly { readonly from: number; readonly to: number }[];
}

export interface SpawnedOnPipes {
  readonly pid: number;
  readonly stdin: number | undefined;
  /** These two are non-blocking. */
  readonly stdout: number;
  readonly stderr: number;
}

export interface SpawnedOnTerminal {
  readonly pid: number;
  /** Three non-blocking descriptors of the terminal's master, each for one user to close. */
  readonly output: number;
  readonly outputRest: number;
  readonly input: number;
}

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** Called, before the child exists, with what its stdout will link to in /proc; see `Warden`. */
export type AnnounceChild = (stdoutLink: string) => void;

// posix_spawn returns when the child runs its program, which takes about half a millisecond, so another thread waits
// for it.

/**
 * Starts a child on real pipes. Node's own are socket pairs, which a child cannot reopen by name:
 * `echo x > /dev/stdout` would fail in it.
 */
export function spawnOnPipes(
  program: Program,
  options: { stdin: boolean },
  announce: AnnounceChild,
): Promise<SpawnedOnPipes> {
  return withActions(async (actions, opened) => {
    const stdin = options.stdin ? openPipe(opened) : undefined;
    const stdout = openPipe(opened);
    const stderr = openPipe(opened);
    // A new pipe has no other flags that could be lost.
    check(libc().fcntl(stdout.readEnd, F_SETFL, O_NONBLOCK));
    check(libc().fcntl(stderr.readEnd, F_SETFL, O_NONBLOCK));
    if (stdin) libc().actionsDup2(actions, stdin.readEnd, 0);
    else libc().actionsOpen(actions, 0, "/dev/null", 0, 0);
    libc().actionsDup2(actions, stdout.writeEnd, 1);
    libc().actionsDup2(actions, stderr.writeEnd, 2);
    announce(`pipe:[${inode(stdout.readEnd)}]`);
    const pid = await spawn(program, actions);
    const childEnds = [stdin?.readEnd, stdout.writeEnd, stderr.writeEnd];
    for (const fd of childEnds) if (fd !== undefined) closeSync(fd);
    return { pid, stdin: stdin?.writeEnd, stdout: stdout.readEnd, stderr: stderr.readEnd };
  });
}

/**
 * Starts a child on a new terminal, which is its stdin, stdout and stderr. It controls the child's session, or is left
 * for a descendant to take.
 */
export function spawnOnTerminal(
  program: Program,
  { size, controlling }: { size: TerminalSize; controlling: boolean },
  announce: AnnounceChild,
): Promise<SpawnedOnTerminal> {
  return withActions(async (actions, opened) => {
    const output = openPseudoTerminal(opened);
    const outputRest = duplicate(output, opened);
    const input = duplicate(output, opened);
    setTerminalSize(output, size);
    eraseWholeCharacters(output);
    makeNonBlocking(output);
    const slave = pseudoTerminalName(output);
    // The child leads a new session without a terminal, so the first one it opens becomes its controlling terminal.
    libc().actionsOpen(actions, 0, slave, controlling ? O_RDWR : O_RDWR | O_NOCTTY, 0);
    libc().actionsDup2(actions, 0, 1);
    libc().actionsDup2(actions, 0, 2);
    announce(`${slave} ${Math.trunc(statSync(slave).ctimeMs / 1000)}`);
    const pid = await spawn(program, actions);
    return { pid, output, outputRest, input };
  });
}

/** Descriptors that `work` adds to `opened` are closed if it fails. */
async function withActions<T>(work: (actions: Buffer, opened: number[]) => Promise<T>): Promise<T> {
  const opened: number[] = [];
  const actions = createActions();
  try {
    return await work(actions, opened);
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  } finally {
    destroyActions(actions);
  }
}

/** Starts a child that only listens to `stdin`, with one more descriptor as its number 3. */
export function spawnListener(program: Program, { stdin, table }: { stdin: number; table: number }): number {
  const actions = createActions();
  try {
    libc().actionsDup2(actions, stdin, 0);
    libc().actionsDup2(actions, table, 3);
    libc().actionsOpen(actions, 1, "/dev/null", O_RDWR, 0);
    libc().actionsDup2(actions, 1, 2);
    const { argv, env } = prepareSpawn(program, actions);
    const pid = new Int32Array(1);
    const errno = libc().posixSpawn(pid, program.path, actions, attributes(), argv, env);
    if (errno !== 0) throw osError(errno);
    return pid[0]!;
  } finally {
    destroyActions(actions);
  }
}

const pipeEnds = new Int32Array(2);

export function openPipe(opened: number[] = []): { readEnd: number; writeEnd: number } {
  check(libc().pipe2(pipeEnds, O_CLOEXEC));
  const [readEnd = -1, writeEnd = -1] = pipeEnds;
  opened.push(readEnd, writeEnd);
  return { readEnd, writeEnd };
}

/** Marks inherited descriptors close-on-exec, so that children do not get them. Node opens its own that way already. */
export function withholdInheritedDescriptors(): void {
  if (libc().systemCall(CLOSE_RANGE, 3, ALL_ABOVE, CLOSE_RANGE_CLOEXEC) === 0) return;
  // Linux before 5.11.
  for (const name of listOwnDescriptors()) {
    const fd = Number(name);
    if (fd <= 2) continue;
    const flags = libc().fcntl(fd, F_GETFD, 0);
    // The descriptor of the listing itself is gone by now.
    if (flags >= 0) libc().fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
}

function listOwnDescriptors(): string[] {
  try {
    return readdirSync("/proc/self/fd");
  } catch (error) {
    if (isErrno(error, "EMFILE")) throw osError(ERRNO.EMFILE);
    throw new CapabilityError("UNSUPPORTED", "processes cannot be started without /proc on this system", {
      cause: error,
    });
  }
}

export function makeNonBlocking(fd: number): void {
  const flags = check(libc().fcntl(fd, F_GETFL, 0));
  check(libc().fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

export function setTerminalSize(master: number, size: TerminalSize): void {
  const winsize = Buffer.alloc(8);
  new Uint16Array(winsize.buffer, winsize.byteOffset, 2).set([size.rows, size.columns]);
  check(libc().ioctl(master, TIOCSWINSZ, winsize));
}

/** Otherwise Backspace removes one byte of a character where the kernel edits the line, as for `cat` and `read`. */
function eraseWholeCharacters(master: number): void {
  const settings = Buffer.alloc(64);
  check(libc().ioctl(master, TCGETS, settings));
  const flags = new Uint32Array(settings.buffer, settings.byteOffset, 1);
  flags[0]! |= IUTF8;
  check(libc().ioctl(master, TCSETS, settings));
}

const NO_PATH = Buffer.alloc(1);
// The layout of this structure is the same on every processor.
const statxWords = new BigUint64Array(32);
const statxResult = new Uint8Array(statxWords.buffer);

/** Node's own `fstat` creates an object with four dates. */
function inode(fd: number): bigint {
  check(libc().statx(fd, NO_PATH, AT_EMPTY_PATH, STATX_INO, statxResult));
  return statxWords[STATX_INO_WORD]!;
}

function spawn(program: Program, actions: Buffer): Promise<number> {
  const { argv, env } = prepareSpawn(program, actions);
  const pid = new Int32Array(1);
  return new Promise((resolve, reject) => {
    libc().posixSpawnAsync(pid, program.path, actions, attributes(), argv, env, (error, errno) => {
      if (error !== null) reject(error);
      else if (errno !== 0) reject(osError(errno));
      else resolve(pid[0]!);
    });
  });
}

function prepareSpawn(program: Program, actions: Buffer): { argv: CStrings; env: CStrings } {
  refuseNul([program.path], "nul byte found in provided data");
  refuseNul(program.argv, "nul byte found in provided data");
  refuseNul(program.env, "data provided contains a nul byte");
  for (const { from, to } of program.descriptors ?? []) libc().actionsDup2(actions, from, to);
  libc().actionsChdir(actions, toCString(program.cwd));
  return { argv: [...program.argv, null], env: [...program.env, null] };
}

/** Throws a CapabilityError for what the kernel would refuse anyway, before spending much work on it. */
export function refuseTooLong(argv: readonly string[], env: readonly string[]): void {
  const longest = MAX_TEXT_PAGES * libc().sysconf(SC_PAGESIZE);
  let bytes = 0;
  for (const texts of [argv, env])
    for (const { length } of texts) {
      // The text has at least as many bytes as characters, plus a terminating NUL.
      if (length >= longest) throw osError(ERRNO.E2BIG);
      bytes += length + 1 + POINTER_BYTES;
    }
  if (bytes > mostArgumentBytes()) throw osError(ERRNO.E2BIG);
}

/** A quarter of the stack, within limits. */
function mostArgumentBytes(): number {
  const limits = new BigUint64Array(2);
  if (libc().prlimit(0, RLIMIT_STACK, null, limits) !== 0) return MAX_ARGUMENT_BYTES;
  return Math.max(Math.min(Number(limits[0]) / 4, MAX_ARGUMENT_BYTES), MIN_ARGUMENT_BYTES);
}

/** Throws a CapabilityError for texts that C strings cannot hold. */
export function refuseNul(texts: readonly string[], message: string): void {
  if (texts.some((text) => text.includes("\0"))) throw new CapabilityError("INVALID_INPUT", message);
}

const unusedActions: Buffer[] = [];

function createActions(): Buffer {
  const actions = unusedActions.pop() ?? Buffer.alloc(ACTIONS_BYTES);
  libc().actionsInit(actions);
  return actions;
}

function destroyActions(actions: Buffer): void {
  libc().actionsDestroy(actions);
  unusedActions.push(actions);
}

let sharedAttributes: Buffer | undefined;

/** A new session, and no ignored or blocked signals, of which Node itself has some. */
function attributes(): Buffer {
  if (sharedAttributes) return sharedAttributes;
  const created = Buffer.alloc(ATTRIBUTES_BYTES);
  const signals = Buffer.alloc(SIGNAL_SET_BYTES);
  libc().attributesInit(created);
  libc().attributesSetFlags(created, SPAWN_SETSID | SPAWN_SETSIGDEF | SPAWN_SETSIGMASK);
  libc().signalSetFill(signals);
  libc().attributesSetDefaultSignals(created, signals);
  libc().signalSetEmpty(signals);
  libc().attributesSetSignalMask(created, signals);
  sharedAttributes = created;
  return created;
}

function openPseudoTerminal(opened: number[]): number {
  const master = check(libc().openPseudoTerminal(O_RDWR | O_NOCTTY | O_CLOEXEC));
  opened.push(master);
  check(libc().grantPseudoTerminal(master));
  check(libc().unlockPseudoTerminal(master));
  return master;
}

export function duplicate(fd: number, opened: number[] = []): number {
  const copy = check(libc().fcntl(fd, F_DUPFD_CLOEXEC, 0));
  opened.push(copy);
  return copy;
}

export function pseudoTerminalName(master: number): string {
  const name = Buffer.alloc(64);
  const errno = libc().pseudoTerminalName(master, name, name.length);
  if (errno !== 0) throw osError(errno);
  return name.toString("latin1", 0, name.indexOf(0));
}
