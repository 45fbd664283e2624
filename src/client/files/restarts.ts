import { ConnectionError } from "../../base/errors.ts";

/** How often in a row something may be restarted because its connection was lost. */
export const MAX_RESTARTS = 10;

/** Retries what a lost connection interrupted, as long as the session continues. An attempt reports its progress. */
export async function withRestarts(attempt: (progressed: () => void) => Promise<void>): Promise<void> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      await attempt(() => {
        restarts = 0;
      });
      return;
    } catch (error) {
      if (!isCut(error) || restarts >= MAX_RESTARTS) throw error;
    }
  }
}

/** Whether the connection was lost, but not the session. */
export function isCut(error: unknown): boolean {
  return error instanceof ConnectionError && error.code !== "SESSION_LOST";
}
