import { statSync } from "node:fs";
import { ownAccount } from "../../../../native/account.ts";

/** What a system gives to a new login. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A directory and an environment that do not depend on which command happened to start the server. */
export function neutralStart(): { cwd: string; env: Record<string, string> } {
  const { name, home = "/", shell } = ownAccount() ?? {};
  const cwd = statSync(home, { throwIfNoEntry: false })?.isDirectory() === true ? home : "/";
  return {
    cwd,
    env: {
      PATH: SYSTEM_PATH,
      HOME: home,
      ...(name === undefined ? {} : { USER: name, LOGNAME: name }),
      ...(shell === undefined ? {} : { SHELL: shell }),
    },
  };
}
