import type { FileView, ViewMount } from "../view/file-view.ts";
import type { NetworkMode } from "../policy/sandbox-policy.ts";

/** Path of the stage inside: below /dev, which is always created anew, so that it never depends on the policy. */
export const STAGE_PATH = "/dev/.exec-server-stage";

/** Path of the certificates that the program should trust, where it is shown any. */
export const TRUST_PATH = "/dev/.exec-server-trust.pem";

/** Numbers that descriptors have in bubblewrap. None of them is passed on to the program. */
export const DESCRIPTORS = { filter: 4, stage: 5, listeners: 6, lists: 7, trust: 8, firstPinned: 9 } as const;

/** Not every kernel has all of them. Bubblewrap itself handles others. */
const KERNEL_FILES = ["acpi", "dynamic_debug", "mtrr", "scsi"].map((name) => `/proc/${name}`);

/** To make the mounts private, and to give up even the possibility of regaining these capabilities. */
const STAGE_CAPABILITIES = ["CAP_SYS_ADMIN", "CAP_SETPCAP"];

const SHARED_MEMORY_BYTES = 1024 * 1024 * 1024;

/** A file or directory of the disk that is shown, read-only, at a place below /dev. */
export interface Bind {
  readonly from: string;
  readonly to: string;
}

export interface BubblewrapOptions {
  readonly view: FileView;
  readonly network: NetworkMode;
  readonly cwd: string;
  /** See `Confinement`. */
  readonly binds?: readonly Bind[] | undefined;
  readonly showsTrust?: boolean;
  /** Whether bubblewrap can limit the size of a temporary file system. */
  readonly limitsSize: boolean;
  /** Paths that are mounted by descriptor, with the descriptors' numbers in bubblewrap. */
  readonly pinned?: ReadonlyMap<string, number>;
}

/** Options of bubblewrap, up to the command that it runs. */
export function bubblewrapArguments(options: BubblewrapOptions): string[] {
  const { view, network, cwd, binds = [], showsTrust = false, limitsSize } = options;
  const hidden = view.mounts.filter(({ kind }) => kind === "hiddenDirectory" || kind === "absent");
  return [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    ...(network === "enabled" ? [] : ["--unshare-net"]),
    "--die-with-parent",
    ...option("--cap-drop", "ALL"),
    // For the stage, which drops them.
    ...STAGE_CAPABILITIES.flatMap((name) => option("--cap-add", name)),
    ...(view.root === "empty" ? [] : [view.root === "readOnly" ? "--ro-bind" : "--bind", "/", "/"]),
    // Shared memory contains only what a policy names.
    ...option("--dev", "/dev"),
    ...option("--perms", "0555"),
    ...option("--file", String(DESCRIPTORS.stage), STAGE_PATH),
    ...(showsTrust ? ["--perms", "0444", "--file", String(DESCRIPTORS.trust), TRUST_PATH] : []),
    ...binds.flatMap(({ from, to }) => ["--ro-bind", from, to]),
    ...option("--perms", "1777"),
    ...(limitsSize ? option("--size", String(SHARED_MEMORY_BYTES)) : []),
    ...option("--tmpfs", "/dev/shm"),
    ...view.mounts.flatMap((mount) => mountArguments(mount, options)),
    ...option("--remount-ro", "/dev"),
    ...option("--proc", "/proc"),
    ...kernelArguments(view),
    // Mount points below them exist by now.
    ...hidden.flatMap(({ path }) => ["--remount-ro", path]),
    ...(view.root === "empty" ? ["--remount-ro", "/"] : []),
    ...option("--chdir", cwd),
    ...option("--seccomp", String(DESCRIPTORS.filter)),
  ];
}

/**
 * Root is root inside, too, and may write these files of the kernel without any capability. With some of them it could
 * have a program run outside, such as /proc/sys/kernel/core_pattern. Bubblewrap leaves /proc/sys as it is, because the
 * directory itself is not writable.
 */
function kernelArguments({ root }: FileView): string[] {
  return [
    ...option("--ro-bind", "/proc/sys", "/proc/sys"),
    ...KERNEL_FILES.flatMap((path) => option("--ro-bind-try", path, path)),
    ...(root === "writable" ? option("--ro-bind-try", "/sys", "/sys") : []),
  ];
}

/** Keeps an option and its values together in the source. */
function option(...words: string[]): string[] {
  return words;
}

function mountArguments(mount: ViewMount, { view, pinned }: BubblewrapOptions): string[] {
  const { path } = mount;
  const descriptor = pinned?.get(path);
  switch (mount.kind) {
    case "readOnly":
    case "writable": {
      const bind = mount.kind === "readOnly" ? "--ro-bind" : "--bind";
      return descriptor === undefined ? [bind, path, path] : [`${bind}-fd`, String(descriptor), path];
    }
    case "hiddenFile":
    case "absentFile":
      // Bound without devices, it can be neither read nor written.
      return ["--ro-bind", "/dev/null", path];
    case "hiddenDirectory":
      return ["--perms", hasMountsBelow(path, view) ? "0111" : "0000", "--tmpfs", path];
    case "absent":
      return ["--perms", "0555", "--tmpfs", path];
    case "link":
      return ["--symlink", mount.target, path];
  }
}

/**
 * What the stage finds mounted if everything is in its place, as /proc/self/mountinfo spells it: each after `w` or `r`, and
 * before NUL.
 */
export function expectedMounts({ root, mounts }: FileView): Buffer {
  const entries = mounts
    .filter(({ kind }) => kind !== "link")
    .map(({ kind, path }) => `${kind === "writable" ? "w" : "r"}${escapeMountPoint(path)}\0`);
  return Buffer.from([root === "writable" ? "w/\0" : "r/\0", ...entries].join(""));
}

function escapeMountPoint(path: string): string {
  return path.replaceAll(
    /[ \t\n\\]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
}

/** If so, it must be possible to pass through it. */
function hasMountsBelow(path: string, { mounts }: FileView): boolean {
  return mounts.some(
    ({ kind, path: other }) => (kind === "readOnly" || kind === "writable") && other.startsWith(`${path}/`),
  );
}
