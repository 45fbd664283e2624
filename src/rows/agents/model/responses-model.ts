import { onAbort, pause } from "../../../base/deadlines.ts";
import { defined } from "../../../base/defined.ts";
import { formatDuration } from "../../../base/duration.ts";
import { UsageError } from "../../../base/errors.ts";
import { Endpoint } from "./endpoint.ts";
import { readEvents } from "./event-stream.ts";
import { type FailedRequest, failedRequest } from "./failed-request.ts";
import { HiddenKey } from "./hidden-key.ts";
import { type Model, type ModelRequest, type ModelTurn, NO_TOKENS, addTokens } from "./model.ts";
import { readTurn } from "./read-turn.ts";
import { SpokenText } from "./spoken-text.ts";

/** An endpoint with OpenAI's Responses API. */
export interface ResponsesModelOptions {
  /** Name of the model at the endpoint. */
  readonly model: string;
  /** Default: OpenAI's own endpoint. */
  readonly baseUrl?: string;
  /** Sent as a bearer token. Default: none, for an endpoint that needs none. */
  readonly apiKey?: string;
  /** Reasoning effort of models that support it: `low`, `medium`, `high`. Default: the endpoint decides. */
  readonly reasoningEffort?: string;
  /** Maximum output of a turn. Default: the endpoint decides. */
  readonly maxOutputTokens?: number;
  /** Maximum number of repeats after a transient failure. Default: 4. */
  readonly retries?: number;
  /** First pause before a repetition, doubled each time up to 30 s. Default: 500 ms. */
  readonly retryDelayMs?: number;
  /** How long the endpoint may be silent. Default: 5 minutes. */
  readonly idleTimeoutMs?: number;
}

const DEFAULT_BASE_URL = "https://api.openai.com/v1";
const RETRIES = 4;
const RETRY_DELAY_MS = 500;
const MAX_RETRY_DELAY_MS = 30_000;
/** An endpoint that asks for a longer pause is as good as gone. */
const MAX_RETRY_AFTER_MS = 120_000;
const IDLE_TIMEOUT_MS = 300_000;
const ANSWER_SIZES = { maxBytes: 8 * 1024 * 1024, maxEventCharacters: 2 * 1024 * 1024 };

/** A model at an endpoint with the Responses API. */
export function responsesModel(options: ResponsesModelOptions): Model {
  return new ResponsesModel(options);
}

class ResponsesModel implements Model {
  readonly #options: ResponsesModelOptions;
  readonly #key: HiddenKey;
  readonly #endpoint: Endpoint;

  constructor(options: ResponsesModelOptions) {
    checkOptions(options);
    this.#options = options;
    this.#key = new HiddenKey(options.apiKey);
    this.#endpoint = endpointOf(options);
  }

  async respond(request: ModelRequest): Promise<ModelTurn> {
    const { retryDelayMs = RETRY_DELAY_MS } = this.#options;
    const retries = request.retries ?? this.#options.retries ?? RETRIES;
    let spent = NO_TOKENS;
    for (let tried = 0; ; tried += 1) {
      const turn = await this.#try(request);
      request.signal.throwIfAborted();
      spent = addTokens(spent, turn.tokens);
      const { end } = turn;
      if (end.status !== "failed" || !end.retry) return { ...turn, tokens: spent };
      const { retryAfterMs } = turn;
      if (retryAfterMs !== undefined && retryAfterMs > MAX_RETRY_AFTER_MS)
        return failedTurn(
          { ...end, error: `${end.error}; it asks to wait ${formatDuration(retryAfterMs)}` },
          spent,
        );
      if (tried >= retries) {
        const times = tried === 0 ? "" : ` (tried ${tried + 1} times)`;
        return failedTurn({ ...end, error: `${end.error}${times}` }, spent);
      }
      const backoffMs = Math.min(retryDelayMs * 2 ** tried, MAX_RETRY_DELAY_MS) * (0.5 + Math.random() / 2);
      const delayMs = Math.max(retryAfterMs ?? 0, backoffMs);
      request.onEvent?.({ type: "retry", error: end.error, delayMs });
      await pause(delayMs, request.signal);
      request.signal.throwIfAborted();
    }
  }

  async #try(request: ModelRequest): Promise<ModelTurn & { readonly retryAfterMs?: number }> {
    const limit = new AbortController();
    const unlink = onAbort(request.signal, (reason) => limit.abort(reason));
    const spoken = new SpokenText((text) =>
      request.onEvent?.({ type: "text", text: this.#key.inText(text) }),
    );
    try {
      const answer = this.#endpoint.post(JSON.stringify(this.#params(request)), limit.signal);
      const turn = await readTurn(this.#withoutKey(readEvents(answer, ANSWER_SIZES)), spoken);
      if (turn !== undefined) return turn;
      return failedTurn({ error: "the endpoint's answer ended before the model's turn did", retry: true });
    } catch (error) {
      const { error: said, ...failed } = failedRequest(error);
      return failedTurn({ error: this.#key.inText(said), ...failed });
    } finally {
      spoken.endMessage();
      unlink();
      // Ends the connection of an answer that was not read to its end.
      limit.abort();
    }
  }

  #params({ input, tools, mayCallTools }: ModelRequest): object {
    const { model, reasoningEffort, maxOutputTokens } = this.#options;
    return {
      model,
      input,
      tools,
      tool_choice: mayCallTools ? "auto" : "none",
      stream: true,
      // The whole conversation is sent with every request, so that nothing has to be kept at the endpoint.
      store: false,
      ...defined({ max_output_tokens: maxOutputTokens }),
      ...(reasoningEffort === undefined
        ? {}
        : { reasoning: { effort: reasoningEffort }, include: ["reasoning.encrypted_content"] }),
    };
  }

  /** An endpoint that repeats the key must not get it into results. */
  async *#withoutKey(events: AsyncIterable<unknown>): AsyncGenerator {
    for await (const event of events) yield this.#key.inValue(event);
  }
}

function failedTurn(
  { retryAfterMs, ...failure }: FailedRequest,
  tokens = NO_TOKENS,
): ModelTurn & { readonly retryAfterMs?: number } {
  const end = { status: "failed", ...failure } as const;
  return { end, items: [], calls: [], text: "", tokens, ...defined({ retryAfterMs }) };
}

function endpointOf({
  baseUrl = DEFAULT_BASE_URL,
  apiKey,
  idleTimeoutMs: idleMs = IDLE_TIMEOUT_MS,
}: ResponsesModelOptions): Endpoint {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/?$/, "/responses");
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  return new Endpoint({ url, headers, idleMs });
}

function checkOptions({ model, baseUrl, apiKey, retries, maxOutputTokens }: ResponsesModelOptions): void {
  if (model === "") throw new UsageError("the model needs a name");
  if (baseUrl !== undefined && !/^https?:\/\//.test(baseUrl))
    throw new UsageError(`the address of the model must begin with http:// or https://, not ${baseUrl}`);
  if (baseUrl !== undefined && !URL.canParse(baseUrl))
    throw new UsageError(`${baseUrl} is not a valid address`);
  if (baseUrl !== undefined && /^https?:\/\/[^/]*@/.test(baseUrl))
    throw new UsageError("the address of the model must not contain a user or a password; use a key instead");
  // A header cannot contain anything else, and the error of an attempt would reveal it.
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey))
    throw new UsageError("the key of the model must be printable ASCII without spaces");
  for (const [name, value, least] of [
    ["retries", retries, 0],
    ["maxOutputTokens", maxOutputTokens, 1],
  ] as const)
    if (value !== undefined && (!Number.isSafeInteger(value) || value < least))
      throw new UsageError(`${name} must be a whole number of at least ${least}, not ${value}`);
}
