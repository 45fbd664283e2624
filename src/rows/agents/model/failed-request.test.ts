import { describe, expect, it } from "vitest";
import { failedRequest, RefusedError } from "./failed-request.ts";

const refusal = (status: number, headers: Record<string, string> = {}, code?: string) =>
  failedRequest(new RefusedError("no", status, headers, code));

describe("a refused request", () => {
  it.each([408, 409, 429, 500, 502, 503])("may be repeated after %i", (status) => {
    expect(refusal(status)).toEqual({ error: `the endpoint answered ${status}: no`, retry: true });
  });

  it.each([400, 413, 422])("is not repeated after %i", (status) => {
    expect(refusal(status)).toMatchObject({ retry: false });
  });

  it("concerns every agent if the key, the address, the model or the quota is the reason", () => {
    for (const status of [401, 403, 404])
      expect(refusal(status)).toMatchObject({ retry: false, isForAll: true });
    expect(refusal(429, {}, "insufficient_quota")).toMatchObject({ retry: false, isForAll: true });
  });

  it("says when it may be repeated, in seconds, milliseconds or as a date", () => {
    expect(refusal(429, { "retry-after": "7" }).retryAfterMs).toBe(7000);
    expect(refusal(503, { "retry-after-ms": "250", "retry-after": "1" }).retryAfterMs).toBe(250);
    const later = new Date(Date.now() + 60_000).toUTCString();
    expect(refusal(429, { "retry-after": later }).retryAfterMs).toBeGreaterThan(50_000);
    expect(refusal(429, { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }).retryAfterMs).toBe(0);
    expect(refusal(429, { "retry-after": "soon" })).not.toHaveProperty("retryAfterMs");
    expect(refusal(400, { "retry-after": "7" })).not.toHaveProperty("retryAfterMs");
  });
});

it.each([
  new Error("connect ECONNREFUSED 127.0.0.1:1"),
  // A name with several addresses.
  new AggregateError([
    new Error("connect ECONNREFUSED 127.0.0.1:1"),
    new Error("connect ECONNREFUSED ::1:1"),
  ]),
])("an endpoint that cannot be reached is named with the reason", (error) => {
  expect(failedRequest(error)).toEqual({
    error: "the endpoint did not answer: connect ECONNREFUSED 127.0.0.1:1",
    retry: true,
  });
});
