import { ownAccount } from "../../../../native/account.ts";

/** What a system gives to a new login. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** An environment that does not depend on which command happened to start the server. */
export function neutralEnvironment(): Record<string, string> {
  return { PATH: SYSTEM_PATH, ...identity() };
}

function identity(): Record<string, string> {
  const account = ownAccount();
  if (account === undefined) return { HOME: "/" };
  const { name, home, shell } = account;
  return { HOME: home, USER: name, LOGNAME: name, ...(shell === undefined ? {} : { SHELL: shell }) };
}
