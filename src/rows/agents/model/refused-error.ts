type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The endpoint wants the conversation to go elsewhere. */
export class RedirectError extends Error {
  override readonly name = "RedirectError";
}

/** The endpoint answered with an error; the message is what it said. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly status: number;
  readonly code: string | undefined;
  /** How long it asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    said: string,
    {
      status,
      headers,
      code,
    }: { readonly status: number; readonly headers: Headers; readonly code?: string | undefined },
  ) {
    super(said);
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterOf(headers);
  }
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
