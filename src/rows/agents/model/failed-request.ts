import { messageOf } from "../../../base/errors.ts";
import { AnswerError } from "./answer-error.ts";
import { oneLine } from "./one-line.ts";
import { RedirectError, RefusedError } from "./refused-error.ts";
import { OUT_OF_QUOTA } from "./turn-end.ts";

/** A request that brought no turn. */
export interface FailedRequest {
  readonly error: string;
  /** Whether the same request may succeed later. */
  readonly retry: boolean;
  /** How long the endpoint asks to wait. */
  readonly retryAfterMs?: number;
  /** Whether every other request would fail like this one. */
  readonly isForAll?: boolean;
}

/** Statuses that say something about the key, the address or the model, and not about this request. */
const FOR_ALL = new Set([401, 403, 404]);

/** What an error of a request means. */
export function failedRequest(error: unknown): FailedRequest {
  if (error instanceof AnswerError) return { error: error.message, retry: true };
  if (error instanceof RedirectError) return { error: error.message, retry: false, isForAll: true };
  if (error instanceof RefusedError) return refused(error);
  return { error: `the endpoint did not answer: ${oneLine(reasonOf(error))}`, retry: true };
}

function refused({ status, code, message, retryAfterMs }: RefusedError): FailedRequest {
  const error = `the endpoint answered ${status}: ${oneLine(message) || "nothing else"}`;
  if (FOR_ALL.has(status) || code === OUT_OF_QUOTA) return { error, retry: false, isForAll: true };
  const retry = status === 408 || status === 409 || status === 429 || status >= 500;
  return { error, retry, ...(retry && retryAfterMs !== undefined ? { retryAfterMs } : {}) };
}

/** Where a name has several addresses, only the errors for each of them have a text. */
function reasonOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return messageOf(first ?? error);
}
