import { check, libc } from "./libc.ts";

export const CAPABILITY_VERSION_3 = 0x2008_0522;
const PR_SET_DUMPABLE = 4;

/** Version, and the thread: 0 is this one. */
const header = new Uint32Array([CAPABILITY_VERSION_3, 0]);
/** Twice the effective, permitted and inheritable ones, 32 at a time. */
const own = new Uint32Array(6);
const reduced = new Uint32Array(6);

/** Runs synchronous work as the same user without any privilege: permissions of files hold for root, too. */
export function withoutCapabilities<T>(work: () => T): T {
  check(libc().capget(header, own));
  if (own[0] === 0 && own[3] === 0) return work();
  reduced.set(own);
  reduced[0] = 0;
  reduced[3] = 0;
  check(libc().capset(header, reduced));
  try {
    return work();
  } finally {
    check(libc().capset(header, own));
  }
}

/** Prevents other programs of the same user from tracing this one and from reading its memory and descriptors. */
export function forbidInspection(): void {
  libc().prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
