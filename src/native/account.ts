import { userInfo } from "node:os";
import { basename } from "node:path";
import { libc } from "./libc.ts";
import { resultOr } from "./result-or.ts";

/** The system's entry for a user. */
export interface NumberedAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  /** Undefined if the user has none, or one that only refuses logins. */
  readonly shell: string | undefined;
}

type Account = Omit<NumberedAccount, "uid" | "gid">;

const REFUSING_SHELLS = new Set(["nologin", "false"]);
/** The system takes this number for "no change". */
const NO_USER = 0xffff_ffff;

/** The account that runs this program. Undefined if the system does not list the user, as in many containers. */
export function ownAccount(): Account | undefined {
  return resultOr(undefined, () => {
    const { username, homedir, shell } = userInfo();
    return { name: username, home: homedir, shell: usableShell(shell ?? "") };
  });
}

/** The account with a name or number. Undefined if the system lists no such user. */
export function findAccount(user: string): NumberedAccount | undefined {
  const number = /^[0-9]{1,10}$/.test(user) ? Number(user) : undefined;
  // Names with other characters exist nowhere, and a C string ends at a NUL.
  if (number === undefined ? !/^[^\0:\n/]{1,256}$/.test(user) : number >= NO_USER) return undefined;
  const entry = libc().findUser(number ?? user);
  return entry && { ...entry, home: entry.home || "/", shell: usableShell(entry.shell) };
}

function usableShell(shell: string): string | undefined {
  return shell === "" || REFUSING_SHELLS.has(basename(shell)) ? undefined : shell;
}
