import { limited, pause } from "../../base/deadlines.ts";
import { formatDuration } from "../../base/duration.ts";
import { ConnectionError, type ExecError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { RecoveryBudget } from "../link/recovery-budget.ts";
import { unresumable } from "../calls/session-end.ts";
import { isTransient } from "../calls/transient-errors.ts";

interface RecoveryOptions {
  readonly budget: RecoveryBudget;
  /** The whole budget, for messages. */
  readonly timeoutMs: number;
  /** Aborted when the session is closed here. */
  readonly closing: AbortSignal;
  readonly logger: Logger;
  /** Tries once to resume the session on a new connection. */
  readonly attempt: (signal: AbortSignal) => Promise<void>;
}

/**
 * Tries to resume a session until that succeeds, the server refuses for good or the time is over. `lost` says how the
 * connection was lost. Resolves with the error that ends the session, if it has failed.
 */
export async function recover(
  lost: string,
  { budget, timeoutMs, closing, logger, attempt }: RecoveryOptions,
): Promise<"recovered" | "closed" | ExecError> {
  for (;;) {
    const pauseMs = budget.pauseMs();
    if (pauseMs > 0) await budget.spend(pauseMs, () => pause(pauseMs, closing));
    if (closing.aborted) return "closed";
    const leftMs = budget.leftMs;
    if (leftMs <= 0)
      return new ConnectionError(`${lost}; recovery timed out after ${formatDuration(timeoutMs)}`);
    try {
      const late = (): Error => new ConnectionError("recovery timed out");
      await budget.spend(leftMs, () => limited({ timeoutMs: leftMs, outer: closing, late }, attempt));
      return "recovered";
    } catch (error) {
      logger.debug("an attempt to resume the session failed", { error: messageOf(error) });
      if (!closing.aborted && !isTransient(error)) return unresumable(lost, error);
    }
  }
}
