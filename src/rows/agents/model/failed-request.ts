import { messageOf } from "../../../base/errors.ts";
import { oneLine } from "./one-line.ts";
import { member, text } from "./turn-end.ts";
import { AnswerLimitError } from "./bounded-fetch.ts";
import { RedirectError } from "./own-origin-fetch.ts";

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
const OUT_OF_QUOTA = "insufficient_quota";

/** What an error of the `openai` package, or of `fetch` below it, means. */
export function failedRequest(error: unknown): FailedRequest {
  const limit = causeOf(error, (cause): cause is AnswerLimitError => cause instanceof AnswerLimitError);
  if (limit !== undefined) return { error: limit.message, retry: true };
  const redirect = causeOf(error, (cause): cause is RedirectError => cause instanceof RedirectError);
  if (redirect !== undefined) return { error: redirect.message, retry: false, isForAll: true };
  const status = member(error, "status");
  if (typeof status !== "number") return noAnswer(error);
  const said = `the endpoint answered ${status}: ${oneLine(saidOf(error))}`;
  if (FOR_ALL.has(status)) return { error: said, retry: false, isForAll: true };
  if (text(error, "code") === OUT_OF_QUOTA) return { error: said, retry: false, isForAll: true };
  const retry = status === 408 || status === 409 || status === 429 || status >= 500;
  const retryAfterMs = retry ? retryAfterOf(error) : undefined;
  return { error: said, retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

function noAnswer(error: unknown): FailedRequest {
  const syntax = causeOf(error, (cause): cause is SyntaxError => cause instanceof SyntaxError);
  if (syntax !== undefined) return { error: "the endpoint's answer is not JSON", retry: true };
  // An error within the stream has no status.
  const said = text(member(error, "error"), "message");
  if (said !== undefined) return { error: `the endpoint failed: ${oneLine(said)}`, retry: true };
  return { error: `the endpoint did not answer: ${oneLine(deepest(error))}`, retry: true };
}

/** The message of the body, without the status that the package puts in front of it. */
function saidOf(error: unknown): string {
  return text(member(error, "error"), "message") ?? messageOf(error).replace(/^\d{3} /, "");
}

/** `fetch failed` says nothing; its cause does. */
function deepest(error: unknown): string {
  const cause = member(error, "cause");
  return cause instanceof Error ? deepest(cause) : messageOf(error);
}

function causeOf<E>(error: unknown, is: (cause: unknown) => cause is E): E | undefined {
  if (is(error)) return error;
  const cause = member(error, "cause");
  return cause === undefined ? undefined : causeOf(cause, is);
}

/** `Retry-After` in seconds or as a date, and the milliseconds that some endpoints send. */
function retryAfterOf(error: unknown): number | undefined {
  const headers = member(error, "headers");
  if (!(headers instanceof Headers)) return undefined;
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0) return ms;
  const after = headers.get("retry-after") ?? "";
  const seconds = Number.parseFloat(after);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
