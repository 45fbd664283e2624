import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { CapabilityError } from "../base/errors.ts";
import type { NumberedAccount } from "./account.ts";
import { libc } from "./libc.ts";
import { CAPABILITY_VERSION_3, forbidInspection } from "./privileges.ts";
import { resultOr } from "./result-or.ts";

const CAP_SETGID = 6n;
const CAP_SETUID = 7n;
const PR_SET_PDEATHSIG = 1;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const KEYCTL = { x64: 250, arm64: 219 } as const;
const KEYCTL_JOIN_SESSION_KEYRING = 1;

/**
 * Whether this program is root and may become any user. The capabilities alone are not enough: everything that a server
 * starts as its own user would inherit them, and could become root.
 */
export function canSwitchUser(): boolean {
  if (process.geteuid?.() !== 0) return false;
  const effective = BigInt(`0x${statusField("CapEff") ?? "0"}`);
  return [CAP_SETGID, CAP_SETUID].every((capability) => ((effective >> capability) & 1n) === 1n);
}

/**
 * Makes this program that user, for good: its groups, its ids, no capability, no key of the user before. From then on
 * no other program of the user can look into this one. Call it before anything runs on another thread. Throws a
 * CapabilityError if anything of the user before is left.
 */
export function becomeUser({ name, uid, gid }: NumberedAccount): void {
  // Loaded before the switch, as a user who can read it.
  const { capset, prctl, systemCall } = libc();
  try {
    // The types lack it.
    (process as unknown as { initgroups(user: string, group: number): void }).initgroups(name, gid);
    process.setgid!(gid);
    process.setuid!(uid);
  } catch (error) {
    throw new CapabilityError("OS_ERROR", `cannot become the user ${name}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  // The system has taken them with the user, unless it was asked not to.
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  capset(new Uint32Array([CAPABILITY_VERSION_3, 0]), new Uint32Array(6));
  forbidInspection();
  // Systems without keys refuse, and have none.
  const keyctl = KEYCTL[process.arch as keyof typeof KEYCTL];
  if (keyctl !== undefined) systemCall(keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0);
  assertIs({ name, uid, gid });
}

/**
 * Makes the system kill this program when its parent ends, unless the parent may not signal it. Becoming another user
 * undoes this.
 */
export function endWithParent(): void {
  libc().prctl(PR_SET_PDEATHSIG, constants.signals.SIGKILL, 0, 0, 0);
}

/** Belt and braces: nothing is served with an id or a capability too many. */
function assertIs({ name, uid, gid }: Pick<NumberedAccount, "name" | "uid" | "gid">): void {
  const hasIds =
    statusField("Uid") === [uid, uid, uid, uid].join("\t") &&
    statusField("Gid") === [gid, gid, gid, gid].join("\t");
  const capabilities = ["CapInh", "CapPrm", "CapEff", "CapAmb"].map((field) => statusField(field) ?? "0");
  if (hasIds && capabilities.every((set) => /^0+$/.test(set)) && !canReturn()) return;
  throw new CapabilityError("OS_ERROR", `cannot become the user ${name} completely`);
}

function canReturn(): boolean {
  return resultOr(false, () => {
    process.setuid!(0);
    return process.getuid!() === 0;
  });
}

function statusField(name: string): string | undefined {
  // Status of this thread, which starts all others from now on.
  const status = readFileSync("/proc/thread-self/status", "latin1");
  const line = status.split("\n").find((each) => each.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}
