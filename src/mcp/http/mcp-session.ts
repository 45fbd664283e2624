import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  createMcpHandler,
  type JSONRPCMessage,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { settledWithin } from "../../base/deadlines.ts";
import type { Logger } from "../../base/logger.ts";
import type { BodyFault } from "./bodies.ts";

/** What answers the messages of a session. */
export interface McpService extends AsyncDisposable {
  /** Another server with the same tools and processes. */
  server(): Server;
}

/** The sender of a request. */
export interface McpBearer {
  /** Equal for those that share sessions. */
  readonly key: string;
}

export interface SessionOptions<B extends McpBearer> {
  readonly bearer: B;
  /** `latest` returns the sender of the session's latest request, whose token may have been renewed. */
  readonly open: (latest: () => B, kind: SessionKind) => McpService;
  readonly idleMs: number;
  readonly logger: Logger;
  /** Nothing has come for so long that the client has probably gone. */
  readonly expired: (session: McpSession<B>) => void;
}

/** Its protocols are those before 2026-07-28, which have sessions. The others have one for each token. */
export type SessionKind = "own" | "of-token";

/** How long the machine has to end the processes. */
const END_TIMEOUT_MS = 3_000;
/** Requests of a session that are not answered, and streams. */
const MAX_EXCHANGES = 512;
const INVALID_REQUEST = -32_600;
const REFUSED = -32_000;

/** Tools and processes, for as long as requests come. */
export class McpSession<B extends McpBearer> {
  readonly key: string;
  readonly id: string | undefined;
  /** When the last request or stream ended. */
  lastUsedMs = performance.now();
  readonly #options: SessionOptions<B>;
  readonly #service: McpService;
  readonly #channel: Channel;
  #bearer: B;
  #exchanges = 0;
  #timer: NodeJS.Timeout | undefined;
  #ending: Promise<void> | undefined;

  constructor(kind: SessionKind, options: SessionOptions<B>) {
    this.#options = options;
    this.#bearer = options.bearer;
    this.key = options.bearer.key;
    this.#service = options.open(() => this.#bearer, kind);
    this.id = kind === "own" ? randomUUID() : undefined;
    this.#channel =
      this.id === undefined
        ? withoutSessions(this.#service, options.logger)
        : new SessionChannel(this.#service, this.id, options.logger);
    this.#startTimer();
  }

  /** Whether nothing is waiting for an answer, or follows its stream. */
  get isIdle(): boolean {
    return this.#exchanges === 0;
  }

  /** Answers a request of the session's own party. `body` is parsed. */
  async answer(
    bearer: B,
    request: Request,
    body: unknown,
    response: ServerResponse,
  ): Promise<Response | BodyFault> {
    if (this.#ending !== undefined || response.destroyed) return GONE;
    if (this.#exchanges >= MAX_EXCHANGES) return TOO_MANY;
    this.#bearer = bearer;
    this.#exchanges += 1;
    clearTimeout(this.#timer);
    response.once("close", () => {
      this.#exchanges -= 1;
      this.lastUsedMs = performance.now();
      if (this.#exchanges === 0) this.#startTimer();
    });
    return await this.#channel.answer(request, body);
  }

  /** Resolves when its processes have ended, as far as the machine can be reached. */
  end(): Promise<void> {
    clearTimeout(this.#timer);
    this.#ending ??= settledWithin(
      this.#channel.close().then(() => this.#service[Symbol.asyncDispose]()),
      END_TIMEOUT_MS,
    );
    return this.#ending;
  }

  #startTimer(): void {
    if (this.#ending !== undefined) return;
    this.#timer = setTimeout(() => this.#options.expired(this), this.#options.idleMs).unref();
  }
}

interface Channel {
  answer(request: Request, body: unknown): Promise<Response | BodyFault>;
  close(): Promise<void>;
}

/** Each request has a server of its own. A client cancels one by closing it. */
function withoutSessions(service: McpService, logger: Logger): Channel {
  const handler = createMcpHandler(() => service.server(), {
    legacy: "reject",
    onerror: (error) => logger.debug("MCP", { reason: error.message }),
  });
  return {
    answer: (request, body) => handler.fetch(request, { parsedBody: body }),
    close: () => handler.close(),
  };
}

/** One server for all requests, as it was before 2026-07-28. */
class SessionChannel implements Channel {
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #connected: Promise<void>;
  readonly #send: WebStandardStreamableHTTPServerTransport["send"];
  /** Ids of requests without an answer. */
  readonly #running = new Set<unknown>();

  constructor(service: McpService, id: string, logger: Logger) {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    this.#transport = transport;
    this.#send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!("method" in message)) this.#running.delete(message.id);
      return this.#send(message, options);
    };
    const onerror = ({ message }: Error): void => logger.debug("MCP", { reason: message });
    this.#connected = Object.assign(service.server(), { onerror }).connect(transport);
  }

  async answer(request: Request, body: unknown): Promise<Response | BodyFault> {
    await this.#connected;
    const { id, method, params } = (body ?? {}) as { id?: unknown; method?: unknown; params?: unknown };
    const isRequest = id !== undefined && typeof method === "string";
    // Its answer would go to the other one.
    if (isRequest && this.#running.has(id)) return idInUse(id);
    if (isRequest) this.#running.add(id);
    const answer = await this.#transport.handleRequest(
      request,
      body === undefined ? {} : { parsedBody: body },
    );
    if (isRequest && !answer.ok) this.#running.delete(id);
    if (method === "notifications/cancelled")
      await this.#forget((params as { requestId?: unknown } | undefined)?.requestId);
    return answer;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** A cancelled request is never answered, and the SDK would keep its stream open. */
  async #forget(id: unknown): Promise<void> {
    if (!this.#running.delete(id)) return;
    this.#transport.closeSSEStream(id as string | number);
    const answer = { jsonrpc: "2.0", id, error: { code: REFUSED, message: "cancelled" } };
    await this.#send(answer as JSONRPCMessage).catch(() => {});
  }
}

const GONE: BodyFault = { status: 404, code: -32_001, message: "Session not found" };
const TOO_MANY: BodyFault = {
  status: 503,
  code: REFUSED,
  message: "too many requests are waiting for an answer; try again",
};
const idInUse = (id: unknown): BodyFault => ({
  status: 400,
  code: INVALID_REQUEST,
  message: `the request ${JSON.stringify(id)} is still running; use another id, or a session of your own`,
});
