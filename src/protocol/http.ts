import * as z from "zod";
import { MAX_HASHED_CHARACTERS } from "../base/hashed-text.ts";
import { methodsWith, notification, object, schema } from "./define.ts";
import { Base64, chosenId, Empty, flag, optional, Unsigned } from "./fields.ts";
import { MAX_ID_CHARACTERS } from "./wire-limits.ts";

const RequestId = schema(() => chosenId("identifies the body stream"));

export const HttpRequest = object(() => ({
  method: z.string().describe("Sent as given, with its case preserved"),
  url: z.string().describe("Absolute, `http` or `https`"),
  requestId: RequestId().describe(
    `Chosen by the client; identifies the body stream, and is required even without one; at most ${MAX_ID_CHARACTERS} characters`,
  ),
  headers: z
    .array(
      z.object({
        name: z
          .string()
          .max(MAX_HASHED_CHARACTERS, "http/request header name is invalid: invalid HTTP header name"),
        value: z.string(),
        valueEnvVar: optional(z.string()).describe(
          "Variable in the server's environment whose value is appended to `value`",
        ),
      }),
    )
    .optional()
    .describe("Sent in this order; names may repeat"),
  bodyBase64: optional(Base64()),
  timeoutMs: optional(Unsigned()).describe("For head and body together. Default: no timeout"),
  redirectPolicy: z.enum(["follow", "stop"]).optional().describe("Default: `follow`, up to 10 redirects"),
  streamResponse: flag("Answer with the head, then send the body as `http/request/bodyDelta`"),
}));

export const HttpResponse = object(() => ({
  status: z.number().int(),
  headers: z.array(z.object({ name: z.string().describe("In lower case"), value: z.string() })),
  bodyBase64: Base64().describe("The body as received, not decompressed; empty if it is streamed"),
}));

const httpMethod = methodsWith({ family: "http", right: "network", lost: "ended", answers: "eventually" });

export const httpMethods = {
  "http/request": httpMethod({
    doc: "Makes an HTTP request from the server's machine; every status is a result, not an error.",
    lost: "unknown",
    params: HttpRequest,
    result: HttpResponse,
  }),
  "http/cancel": httpMethod({
    doc: "Cancels a request with a streamed response: it ends with an error before its head, or with a last delta that says `cancelled` after it. Cancelling an ended or unknown request is not an error.",
    extension: true,
    params: () => ({ requestId: RequestId() }),
    result: Empty,
  }),
  "http/flow": httpMethod({
    doc: "Pauses or resumes one streamed body. While it is paused the upstream server waits; nothing is lost.",
    extension: true,
    params: () => ({ requestId: RequestId(), paused: z.boolean() }),
    result: Empty,
  }),
};

export const httpNotifications = {
  "http/request/bodyDelta": notification({
    doc: "A piece of a streamed response body; only the last has `done`.",
    from: "server",
    params: () => ({
      requestId: RequestId(),
      seq: Unsigned().describe("Starts at 1 without gaps, per stream"),
      deltaBase64: Base64().describe("At most 1 MiB once decoded"),
      done: z.boolean(),
      error: z.string().nullable().describe("Why the body ended early"),
    }),
  }),
};
