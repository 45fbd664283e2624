import { lstatSync } from "node:fs";
import { MatchingWork, NamePatterns } from "../../../../capabilities/process/name-patterns.ts";
import { withUtf8Locale } from "../../../../capabilities/process/utf8-locale.ts";
import { ownAccount } from "../../../../native/account.ts";
import { resultOr } from "../../../../native/result-or.ts";
import { defined } from "../../../shared/defined.ts";

/** PATH that a system gives to a new login. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Variables about the person, not about one shell, as ssh and tmux pass them on. */
const PASSED = "LANG LANGUAGE LC_* TZ COLORTERM EDITOR VISUAL SSH_AUTH_SOCK";

/**
 * The environment of the user's own server, and so of what pages and other machines start there: that of a new login,
 * and the variables of this shell that EXEC_SERVER_PASS_ENV lists.
 */
export function ownServerEnvironment(shell: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const { name, home = "/", shell: program } = ownAccount() ?? {};
  const login = { PATH: SYSTEM_PATH, HOME: home, USER: name, LOGNAME: name, SHELL: program };
  const listed = (shell["EXEC_SERVER_PASS_ENV"] ?? PASSED).split(/[\s,]+/).filter((text) => text !== "");
  const patterns = new NamePatterns(listed, new MatchingWork());
  const passed = Object.entries(shell).filter(
    ([variable]) => patterns.fits(variable) && (variable !== "SSH_AUTH_SOCK" || hasPersistentAgent(shell)),
  );
  return defined(withUtf8Locale({ ...login, ...Object.fromEntries(passed) })) as Record<string, string>;
}

/** A forwarded agent ends with its login, and another user's, as after `su`, is not for this user. */
function hasPersistentAgent({ SSH_AUTH_SOCK: path = "", SSH_CONNECTION: login }: NodeJS.ProcessEnv): boolean {
  const stats = resultOr(undefined, () => lstatSync(path, { throwIfNoEntry: false }));
  return login === undefined && stats?.isSocket() === true && stats.uid === process.geteuid?.();
}
