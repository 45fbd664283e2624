import { statSync } from "node:fs";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";

/** Watching the directories would be quicker, but links that lead to other directories are replaced, too. */
const LOOK_AGAIN_MS = 1_000;

export interface RereadOptions {
  readonly paths: readonly string[];
  /** What the files hold, for the log. */
  readonly what: string;
  readonly logger: Logger;
  /** Reads the files and uses them. If it throws, it is called again until it succeeds. */
  readonly reread: () => void;
  readonly lookAgainMs?: number;
}

/**
 * Reads files of the operator again when they change, or when others take their places. While they cannot be used, what
 * was read before stays in use, and the log says why. Returns a function that ends this.
 */
export function rereadOnChange(options: RereadOptions): () => void {
  const { paths, what, logger, reread, lookAgainMs = LOOK_AGAIN_MS } = options;
  if (paths.length === 0) return () => {};
  let seen = identityOf(paths);
  let complaint: string | undefined;
  const check = (): void => {
    const now = identityOf(paths);
    // After a fault, the same files are read again: they may have been read while they were written.
    if (now === seen && complaint === undefined) return;
    seen = now;
    try {
      reread();
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== complaint)
        logger.error(`${what}: the new files cannot be used, what was read before stays`, { reason });
      complaint = reason;
      return;
    }
    complaint = undefined;
    logger.info(`${what}: read again`);
  };
  const timer = setInterval(check, lookAgainMs).unref();
  return () => clearInterval(timer);
}

/** Differs when a file is written, and when another one takes its place. */
function identityOf(paths: readonly string[]): string {
  return paths.map(describe).join("\n");
}

function describe(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return "missing";
  }
}
