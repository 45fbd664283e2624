import { ConnectionError } from "../../base/errors.ts";

/** Maximum number of restarts in a row after lost connections. */
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

/** Renames a part. If the answer to an earlier attempt was lost, the part may be in its place. */
export async function renameOnce(isGone: () => Promise<boolean>, rename: () => Promise<void>): Promise<void> {
  let isFirst = true;
  await withRestarts(async () => {
    if (!isFirst && (await isGone())) return;
    isFirst = false;
    await rename();
  });
}

/** Whether the connection was lost, but not the session. */
export function isCut(error: unknown): boolean {
  return error instanceof ConnectionError && error.code !== "SESSION_LOST";
}
