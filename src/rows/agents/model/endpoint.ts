import type { Agent, Dispatcher } from "undici";
import { formatDuration } from "../../../base/duration.ts";
import { AnswerError, RedirectError, RefusedError } from "./failed-request.ts";
import { member, text } from "./turn-end.ts";

/** Address and options of requests. */
export interface EndpointOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** How long the endpoint may be silent. */
  readonly idleMs: number;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Redirects that repeat the request as it is. Others would make it a GET without the conversation. */
const REPEATING = new Set([307, 308]);
const MAX_REDIRECTS = 5;
/** Limit for the body of a refusal. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const SILENT = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/** An HTTP endpoint that takes POST requests, and answers with a stream. */
export class Endpoint {
  readonly #options: EndpointOptions;
  #client: Promise<HttpClient> | undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
    // The first request should not wait for it. If it fails, that request tries again.
    this.#load().catch(() => {});
  }

  /**
   * Sends a request, and yields the bytes of the answer. Follows redirects only within the origin: the user decides who
   * gets a conversation.
   */
  async *post(body: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { idleMs } = this.#options;
    try {
      const client = await this.#load();
      yield* (await this.#answer(client, body, signal)).body;
    } catch (error) {
      if (!SILENT.has(text(error, "code") ?? "")) throw error;
      throw new AnswerError(`the endpoint was silent for ${formatDuration(idleMs)}`, { cause: error });
    }
  }

  async #answer(
    { agent, request }: HttpClient,
    body: string,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { headers } = this.#options;
    let { url } = this.#options;
    for (let followed = 0; ; followed += 1) {
      const { origin, pathname, search } = url;
      const path = pathname + search;
      const response = await request.call(agent, { origin, path, method: "POST", headers, body, signal });
      const { location } = response.headers;
      if (REDIRECTS.has(response.statusCode) && typeof location === "string") {
        response.body.on("error", () => {}).destroy();
        url = redirected(url, location, response.statusCode, followed);
      } else if (response.statusCode >= 300) throw await refusal(response);
      else return response;
    }
  }

  #load(): Promise<HttpClient> {
    this.#client ??= loadClient(this.#options).catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }
}

/** Target of a redirect. Throws if it must not be followed. */
function redirected(from: URL, location: string, status: number, followed: number): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target?.origin !== from.origin)
    throw new RedirectError(
      `the endpoint redirects to ${target?.origin ?? "an invalid address"}, and the conversation is not sent to another origin; if you trust it, pass its address with --base-url`,
    );
  if (!REPEATING.has(status) || followed >= MAX_REDIRECTS)
    throw new RedirectError(
      `the endpoint answered ${status} with a redirect to ${target.pathname}${followed < MAX_REDIRECTS ? "" : `, after ${followed} others`}; pass its final address with --base-url`,
    );
  return target;
}

async function refusal({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<RefusedError> {
  const said = await beginningOf(body);
  let error: unknown;
  try {
    error = member(JSON.parse(said), "error");
  } catch {
    // Whatever stands between this program and the endpoint may answer with a page.
  }
  return new RefusedError(text(error, "message") ?? said, statusCode, headers, text(error, "code"));
}

async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // The status says more than the reason why the rest is missing.
  }
  return Buffer.concat(chunks).toString("utf8", 0, MAX_REFUSAL_BYTES);
}

interface HttpClient {
  readonly agent: Agent;
  readonly request: (
    this: Agent,
    options: Dispatcher.RequestOptions & { readonly origin: string },
  ) => Promise<Dispatcher.ResponseData>;
}

/** Without the rest of the package, which takes three times as long to load. */
async function loadClient({ idleMs }: EndpointOptions): Promise<HttpClient> {
  const [agent, request] = await Promise.all([
    // @ts-expect-error Only the whole package has types.
    import("undici/lib/dispatcher/agent.js") as Promise<{ default: typeof Agent }>,
    // @ts-expect-error Likewise.
    import("undici/lib/api/api-request.js") as Promise<{ default: HttpClient["request"] }>,
  ]);
  return {
    agent: new agent.default({ headersTimeout: idleMs, bodyTimeout: idleMs }),
    request: request.default,
  };
}
