import { userInfo } from "node:os";
import { basename } from "node:path";
import { libc } from "./libc.ts";
import type { PasswordEntry } from "./password-entry.ts";

/** The system's entry for a user. */
export interface Account {
  readonly name: string;
  readonly home: string;
  /** Undefined if the user has none, or one that only says that nobody may log in. */
  readonly shell: string | undefined;
}

/** An account with its numbers. */
export interface NumberedAccount extends Account {
  readonly uid: number;
  readonly gid: number;
}

const REFUSING_SHELLS = new Set(["nologin", "false"]);
/** The system takes this number for "no change". */
const NO_USER = 0xffff_ffff;

/** The account that runs this program. Undefined for a user whom the system does not list, as in many containers. */
export function ownAccount(): Account | undefined {
  try {
    const { username, homedir, shell } = userInfo();
    return { name: username, home: homedir, shell: usableShell(shell ?? "") };
  } catch {
    return undefined;
  }
}

/** The account with a name or number. Undefined if the system lists no such user. */
export function findAccount(user: string): NumberedAccount | undefined {
  const number = /^[0-9]{1,10}$/.test(user) ? Number(user) : undefined;
  // Names with other characters exist nowhere, and a C string ends at a NUL.
  if (number === undefined ? !/^[^\0:\n/]{1,256}$/.test(user) : number >= NO_USER) return undefined;
  const found: PasswordEntry | undefined = libc().findUser(number ?? user);
  return found && { ...found, home: found.home || "/", shell: usableShell(found.shell) };
}

function usableShell(shell: string): string | undefined {
  return shell === "" || REFUSING_SHELLS.has(basename(shell)) ? undefined : shell;
}
