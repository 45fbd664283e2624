import { anySignal } from "../../base/deadlines.ts";
import { ExecError, messageOf, UsageError } from "../../base/errors.ts";
import { HeadTail } from "../../client/process/head-tail.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import { cutToTokens } from "../../client/tools/tool-result.ts";
import type { Surroundings } from "./process-tools.ts";
import { type McpTool, toolDefinition } from "./tool.ts";

const BODY_TOKENS = 10_000;
const MAX_KEPT_BYTES = 1024 * 1024;
/** Nobody waits for more of a body than a model could read. */
const MAX_READ_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MS = 50_000;

const definition = toolDefinition(
  "http_request",
  "Makes an HTTP request from the machine, follows redirects, and returns the response. Also reaches servers that listen there.",
  {
    url: { type: "string", description: "http:// or https://" },
    method: { type: "string", description: "Default GET." },
    headers: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "Headers of the request.",
    },
    body: { type: "string", description: "Body of the request, as text." },
    max_output_tokens: {
      type: "integer",
      minimum: 1,
      description: `How much of the body to return, in tokens of about 4 bytes. Default ${BODY_TOKENS}. A longer body is cut in the middle.`,
    },
  },
  ["url"],
);

interface RequestArguments {
  readonly url: string;
  readonly method?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly body?: string | null;
  readonly max_output_tokens?: number | null;
}

/** The tool that makes requests. */
export function httpRequestTool({ enter }: Surroundings): McpTool {
  return {
    definition,
    annotations: {
      title: "Make an HTTP request",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
    outputSchema: {
      type: "object",
      properties: {
        status: { type: "integer" },
        headers: { type: "object", additionalProperties: { type: "string" } },
        body: { type: "string" },
        original_token_count: { type: "integer", description: "Size of the body before it was cut." },
        omitted_tokens: { type: "integer" },
        note: { type: "string", description: "Why the body does not end where it should." },
      },
      required: ["status", "headers", "body", "original_token_count", "omitted_tokens"],
    },
    call: async (args, { signal }) => {
      const requested = checkArguments(definition, args) as unknown as RequestArguments;
      if (!/^https?:\/\//i.test(requested.url))
        throw new UsageError("http_request: url must begin with http:// or https://");
      const { host } = await enter(signal);
      const limited = anySignal([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const kept = new HeadTail({ maxBytes: MAX_KEPT_BYTES });
      const { response, note } = await request(host.fetch, requested, kept, limited).catch(
        (error: unknown) => {
          if (signal.aborted) throw error;
          const why = limited.aborted ? `there was no answer in ${TIMEOUT_MS / 1000} s` : messageOf(error);
          throw new ExecError("OS_ERROR", `http_request: ${why}`, { cause: error });
        },
      );
      const headers = Object.fromEntries(response.headers);
      const cut = cutToTokens(kept, requested.max_output_tokens ?? BODY_TOKENS);
      const { original_token_count, omitted_tokens } = cut;
      const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      return {
        text: [
          `Status ${response.status}`,
          ...shown,
          ...(note === undefined ? [] : [`[${note}]`]),
          "",
          cut.output,
        ].join("\n"),
        structured: {
          status: response.status,
          headers,
          body: cut.output,
          original_token_count,
          omitted_tokens,
          ...(note === undefined ? {} : { note }),
        },
      };
    },
  };
}

async function request(
  fetch: typeof globalThis.fetch,
  { url, method, headers, body }: RequestArguments,
  kept: HeadTail,
  signal: AbortSignal,
): Promise<{ readonly response: Response; readonly note?: string }> {
  const response = await fetch(url, {
    method: method ?? "GET",
    headers: headers ?? {},
    signal,
    ...(body === undefined || body === null ? {} : { body }),
  });
  let read = 0;
  try {
    for await (const piece of response.body ?? []) {
      kept.push(piece as Uint8Array);
      read += (piece as Uint8Array).length;
      if (read >= MAX_READ_BYTES)
        return { response, note: `The body is longer: only its first ${read} bytes were read.` };
    }
  } catch (error) {
    return {
      response,
      note: `The body did not end: ${signal.aborted ? "it took too long" : messageOf(error)}.`,
    };
  }
  return { response };
}
