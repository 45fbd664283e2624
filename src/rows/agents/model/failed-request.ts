import { messageOf } from "../../../base/errors.ts";
import { defined } from "../../../base/defined.ts";
import { oneLine, OUT_OF_QUOTA } from "./turn-end.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** An answer of the endpoint that cannot be used, although the next one may be. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
}

/** The endpoint wants the conversation to go elsewhere. */
export class RedirectError extends Error {
  override readonly name = "RedirectError";
}

/** The endpoint answered with an error; the message is the endpoint's. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;
  readonly code: string | undefined;
  /** How long it asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(said: string, status: number, headers: Headers, code: string | undefined) {
    super(said);
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterOf(headers);
  }
}

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

/** Meaning of a request's error. */
export function failedRequest(error: unknown): FailedRequest {
  if (error instanceof AnswerError) return { error: error.message, retry: true };
  if (error instanceof RedirectError) return { error: error.message, retry: false, isForAll: true };
  if (error instanceof RefusedError) return refused(error);
  return { error: `the endpoint did not answer: ${oneLine(reasonOf(error))}`, retry: true };
}

function refused({ status, code, message, retryAfterMs }: RefusedError): FailedRequest {
  const error = `the endpoint answered ${status}: ${oneLine(message) || "no message"}`;
  if (FOR_ALL.has(status) || code === OUT_OF_QUOTA) return { error, retry: false, isForAll: true };
  const retry = status === 408 || status === 409 || status === 429 || status >= 500;
  return { error, retry, ...(retry ? defined({ retryAfterMs }) : {}) };
}

/** If a name has several addresses, only the errors for each address have a text. */
function reasonOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return messageOf(first ?? error);
}

/** `Retry-After` in seconds or as a date, and the milliseconds that some endpoints send. */
function retryAfterOf(headers: Headers): number | undefined {
  const ms = Number.parseFloat(String(headers["retry-after-ms"]));
  if (ms >= 0) return ms;
  const after = String(headers["retry-after"]);
  const seconds = Number.parseFloat(after);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
