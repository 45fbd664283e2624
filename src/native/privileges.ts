import { libc } from "./libc.ts";
import { osError } from "./os-error.ts";

export const CAPABILITY_VERSION_3 = 0x2008_0522;
const PR_SET_DUMPABLE = 4;

/** Version, and the thread: 0 is this one. */
const header = new Uint32Array([CAPABILITY_VERSION_3, 0]);
/** Twice the effective, permitted and inheritable ones, 32 at a time. */
const own = new Uint32Array(6);
const reduced = new Uint32Array(6);

/** Runs synchronous work as the same user without any privilege: permissions of files hold for root, too. */
export function withoutCapabilities<T>(work: () => T): T {
  if (libc().capget(header, own) !== 0) throw osError(libc().errno());
  if (own[0] === 0 && own[3] === 0) return work();
  reduced.set(own);
  reduced[0] = 0;
  reduced[3] = 0;
  set(reduced);
  try {
    return work();
  } finally {
    set(own);
  }
}

function set(capabilities: Uint32Array): void {
  if (libc().capset(header, capabilities) !== 0) throw osError(libc().errno());
}

/** From then on no other program of the same user can trace this one, nor read its memory and descriptors. */
export function forbidInspection(): void {
  libc().prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
