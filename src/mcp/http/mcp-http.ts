import type { IncomingMessage, ServerResponse } from "node:http";
import { isLegacyRequest } from "@modelcontextprotocol/server";
import { messageOf } from "../../base/errors.ts";
import { type Logger } from "../../base/logger.ts";
import { Bodies, type BodyFault } from "./bodies.ts";
import { type McpBearer, type McpService, McpSession, type SessionKind } from "./mcp-session.ts";
import { UnreadAnswers, webRequest } from "./web-exchange.ts";

export interface McpHttpOptions<B extends McpBearer> {
  /** Called for each session; see `SessionOptions`. */
  readonly open: (latest: () => B, kind: SessionKind) => McpService;
  readonly maxSessions: number;
  /** How long a session without requests and streams lasts. */
  readonly sessionIdleMs: number;
  readonly logger: Logger;
}

const MEBIBYTE = 1024 * 1024;
/** As on stdio: more than a file that a model writes. */
const MAX_BODY_BYTES = 8 * MEBIBYTE;
const MAX_BODIES_BYTES = 64 * MEBIBYTE;
const MAX_BODIES_BYTES_PER_BEARER = 32 * MEBIBYTE;
const BODY_TIMEOUT_MS = 60_000;
const MAX_UNREAD_BYTES = 128 * MEBIBYTE;
/** Requests that are being answered, and streams. */
const MAX_EXCHANGES = 4_096;
/** No bearer takes more than this part of all sessions. */
const SHARES = 4;

const SESSION_ID = "mcp-session-id";
const INVALID_REQUEST = -32_600;
const REFUSED = -32_000;

/** The streamable HTTP of the Model Context Protocol, for bearers that have been admitted. */
export class McpHttp<B extends McpBearer> {
  readonly #options: McpHttpOptions<B>;
  readonly #bodies = new Bodies({
    maxBytes: MAX_BODY_BYTES,
    maxTotalBytes: MAX_BODIES_BYTES,
    maxBytesPerKey: MAX_BODIES_BYTES_PER_BEARER,
    timeoutMs: BODY_TIMEOUT_MS,
  });
  readonly #unread = new UnreadAnswers(MAX_UNREAD_BYTES);
  readonly #sessions = new Set<McpSession<B>>();
  readonly #byId = new Map<string, McpSession<B>>();
  /** Those of protocols without sessions. */
  readonly #byBearer = new Map<string, McpSession<B>>();
  #exchanges = 0;
  #isClosed = false;

  constructor(options: McpHttpOptions<B>) {
    this.#options = options;
  }

  /** Resolves when the request is answered. Rejects if its client goes before it has sent it all. */
  async answer(request: IncomingMessage, response: ServerResponse, bearer: B): Promise<void> {
    if (this.#exchanges >= MAX_EXCHANGES) {
      refuse(response, BUSY);
      return;
    }
    this.#exchanges += 1;
    response.once("close", () => {
      this.#exchanges -= 1;
    });
    const answer = await this.#answer(request, response, bearer);
    if (answer instanceof Response) await this.#unread.send(response, answer);
    else refuse(response, answer);
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions].map((session) => this.#end(session)));
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    bearer: B,
  ): Promise<Response | BodyFault> {
    switch (request.method) {
      case "POST":
        return await this.#post(request, response, bearer);
      case "GET":
      case "DELETE": {
        if (request.headers[SESSION_ID] === undefined) return NOT_POST;
        const session = this.#find(request, bearer);
        if (session === undefined) return NO_SESSION;
        const answer = await session.answer(bearer, webRequest(request, response), undefined, response);
        if (request.method === "DELETE" && "ok" in answer && answer.ok) await this.#end(session);
        return answer;
      }
      default:
        return NOT_POST;
    }
  }

  async #post(request: IncomingMessage, response: ServerResponse, bearer: B): Promise<Response | BodyFault> {
    const read = await this.#bodies.read(request, bearer.key);
    if ("fault" in read) return read.fault;
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? "")) return NOT_JSON;
    const body = read.value;
    if (Array.isArray(body)) return BATCH;
    const asked = webRequest(request, response);
    const isLegacy = await isLegacyRequest(asked, body);
    const session = isLegacy ? this.#sessionOf(request, body, bearer) : this.#stateless(bearer);
    if (!(session instanceof McpSession)) return session;
    const answer = await session.answer(bearer, asked, body, response);
    // One that could not begin.
    if (session.id !== undefined && "status" in answer && isNew(request) && answer.status !== 200)
      await this.#end(session);
    return answer;
  }

  /** The session that the request names, or begins. */
  #sessionOf(request: IncomingMessage, body: unknown, bearer: B): McpSession<B> | BodyFault {
    if (!isNew(request)) return this.#find(request, bearer) ?? NO_SESSION;
    const { method } = (body ?? {}) as { readonly method?: unknown };
    return method === "initialize" ? this.#open("own", bearer) : NEEDS_SESSION;
  }

  #stateless(bearer: B): McpSession<B> | BodyFault {
    return this.#byBearer.get(bearer.key) ?? this.#open("of-token", bearer);
  }

  /** For others than those who began it, it does not exist. */
  #find(request: IncomingMessage, bearer: B): McpSession<B> | undefined {
    const session = this.#byId.get(String(request.headers[SESSION_ID]));
    return session?.key === bearer.key ? session : undefined;
  }

  #open(kind: SessionKind, bearer: B): McpSession<B> | BodyFault {
    if (this.#isClosed) return CLOSING;
    const { open, maxSessions, sessionIdleMs, logger } = this.#options;
    const share = Math.ceil(maxSessions / SHARES);
    const own = [...this.#sessions].filter(({ key }) => key === bearer.key);
    const isFull = this.#sessions.size >= maxSessions;
    if (isFull || own.length >= share) {
      // Many clients never say that they go.
      const oldest = own.filter(({ isIdle }) => isIdle).toSorted((a, b) => a.lastUsedMs - b.lastUsedMs)[0];
      if (oldest === undefined) return tooManySessions(isFull ? maxSessions : share, isFull);
      void this.#end(oldest);
    }
    let session: McpSession<B>;
    try {
      session = new McpSession(kind, {
        bearer,
        open,
        idleMs: sessionIdleMs,
        logger,
        expired: (idle) => void this.#end(idle),
      });
    } catch (error) {
      logger.error("an MCP session could not begin", { reason: messageOf(error) });
      return { status: 500, code: -32_603, message: `internal error of exec-server: ${messageOf(error)}` };
    }
    this.#sessions.add(session);
    if (session.id === undefined) this.#byBearer.set(bearer.key, session);
    else this.#byId.set(session.id, session);
    return session;
  }

  async #end(session: McpSession<B>): Promise<void> {
    this.#sessions.delete(session);
    if (session.id !== undefined) this.#byId.delete(session.id);
    else if (this.#byBearer.get(session.key) === session) this.#byBearer.delete(session.key);
    await session.end();
  }
}

const isNew = ({ headers }: IncomingMessage): boolean => headers[SESSION_ID] === undefined;

/** Answers with an error of JSON-RPC, for a request whose id need not be known. */
function refuse(response: ServerResponse, { status, code, message }: BodyFault): void {
  const error = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } });
  response
    .writeHead(status, {
      "content-type": "application/json",
      ...(status === 405 ? { allow: "POST" } : {}),
    })
    .end(error);
}

const NOT_POST: BodyFault = {
  status: 405,
  code: REFUSED,
  message: "use POST; GET and DELETE are for a session, which the header Mcp-Session-Id names",
};
const NOT_JSON: BodyFault = {
  status: 415,
  code: REFUSED,
  message: "the Content-Type must be application/json",
};
const BATCH: BodyFault = {
  status: 400,
  code: INVALID_REQUEST,
  message: "batches are not supported; send one message at a time",
};
const NEEDS_SESSION: BodyFault = {
  status: 400,
  code: REFUSED,
  message: "the header Mcp-Session-Id is missing; begin a session with initialize",
};
// As the SDK words it.
const NO_SESSION: BodyFault = { status: 404, code: -32_001, message: "Session not found" };
const CLOSING: BodyFault = { status: 503, code: REFUSED, message: "the server is closing" };
const BUSY: BodyFault = {
  status: 503,
  code: REFUSED,
  message: "too many requests are being answered; try again",
};

const tooManySessions = (limit: number, ofAll: boolean): BodyFault => ({
  status: 503,
  code: REFUSED,
  message: `${ofAll ? "the server" : "this token"} has ${limit} sessions in use already; end one with DELETE, or try again`,
});
