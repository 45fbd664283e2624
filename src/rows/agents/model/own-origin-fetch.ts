const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Redirects that repeat the request as it is. Others would make it a GET without the conversation. */
const REPEATING = new Set([307, 308]);
const MAX_REDIRECTS = 5;

/** The endpoint wants the conversation to go elsewhere. */
export class RedirectError extends Error {
  override readonly name = "RedirectError";
}

/** `fetch` that follows redirects within an origin only: who gets a conversation is for its user to decide. */
export async function ownOriginFetch(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  const { origin } = new URL(input instanceof Request ? input.url : input);
  let next = input;
  for (let followed = 0; ; followed += 1) {
    const response = await fetch(next, { ...init, redirect: "manual" });
    const { status, headers } = response;
    const location = headers.get("location");
    if (!REDIRECTS.has(status) || location === null) return response;
    await response.body?.cancel();
    const from = next instanceof Request ? next.url : String(next);
    const target = URL.canParse(location, from) ? new URL(location, from) : undefined;
    if (target === undefined || target.origin !== origin)
      throw new RedirectError(
        `the endpoint redirects to ${target?.origin ?? "an address that is none"}, and the conversation is not sent to another origin; if you trust it, give its address with --base-url`,
      );
    if (!REPEATING.has(status) || followed >= MAX_REDIRECTS)
      throw new RedirectError(
        `the endpoint answered ${status} with a redirect to ${target.pathname}${followed < MAX_REDIRECTS ? "" : `, after ${followed} others`}; give its final address with --base-url`,
      );
    next = target;
  }
}
