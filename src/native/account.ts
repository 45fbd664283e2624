import { userInfo } from "node:os";

/** The system's entry for the user that runs this program. */
export interface Account {
  readonly name: string;
  readonly home: string;
  readonly shell: string | undefined;
}

/** Undefined for a user whom the system does not list, as in many containers. */
export function ownAccount(): Account | undefined {
  try {
    const { username, homedir, shell } = userInfo();
    return { name: username, home: homedir, shell: shell ?? undefined };
  } catch {
    return undefined;
  }
}
