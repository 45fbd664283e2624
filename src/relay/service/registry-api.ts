import type { IncomingMessage, ServerResponse } from "node:http";
import { addressOf } from "../../transport/websocket/socket-address.ts";
import { isEnvironmentId } from "../environment-id.ts";
import type { EnvironmentStatus } from "../environment-status.ts";
import { readKey, SECURITY_PROFILE, writeKey } from "../wire-key.ts";
import { type Environment, offline } from "./environment.ts";
import type { Environments } from "./environments.ts";
import { LIMITS } from "./limits.ts";
import { Refusal } from "./refusal.ts";
import type { RecordEvent } from "./relay-event.ts";
import type { RelayMetrics } from "./relay-metrics.ts";
import { rendezvousPath } from "./rendezvous.ts";

const PATH = /^\/cloud\/environment\/([^/]{1,1024})\/(register|connect|validate)$/;

/** What a token may do. */
export interface RelayToken {
  readonly name: string;
  readonly mayRegister: boolean;
  readonly mayConnect: boolean;
  readonly isFor: (environmentId: string) => boolean;
}

export interface RegistryApiOptions {
  readonly environments: Environments;
  /** Whose request it is, or why nobody's. */
  readonly authenticate: (request: IncomingMessage) => Promise<RelayToken | { readonly refusal: string }>;
  /** The address under which both ends reach the relay, such as `https://relay.example`. */
  readonly publicUrl: (request: IncomingMessage) => string;
  /** Whether clients may come now: the audit log can be written, for example. */
  readonly mayAdmit: () => boolean;
  readonly isDraining: () => boolean;
  readonly metrics: RelayMetrics;
  readonly record: RecordEvent;
}

type Action = "register" | "connect" | "validate";
type Body = Readonly<Record<string, unknown>>;

/** The HTTP half of a relay: executors register, and clients ask for them. */
export class RegistryApi {
  readonly #options: RegistryApiOptions;

  constructor(options: RegistryApiOptions) {
    this.#options = options;
  }

  async answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { metrics, record } = this.#options;
    let asked: object = {};
    try {
      const [, encoded, action] = PATH.exec(path) ?? [];
      if (encoded === undefined) {
        await this.#answerOperator(path, request, response);
        return;
      }
      checkMethod(request, "POST");
      asked = { action };
      // Before the body is read: strangers cannot make the relay work.
      const token = await this.#authenticated(request);
      const id = readId(encoded);
      asked = { action, environment: id, token: token.name };
      checkRights(token, action as Action, id);
      const body = await readBody(request);
      sendJson(response, 200, this.#act(action as Action, { id, token, body, request }));
    } catch (error) {
      // Nobody waits for an answer.
      if (request.destroyed && !request.complete) return;
      const isRefusal = error instanceof Refusal;
      const { status, code, message } = isRefusal ? error : new Refusal(500, "internal", "the relay failed");
      metrics.refused(code);
      const fault = isRefusal ? {} : { error: String(error) };
      record("refused", { ...asked, code, from: addressOf(request.socket), ...fault });
      // What is left of the request is not read.
      if (!request.complete) response.setHeader("connection", "close");
      sendJson(response, status, { error: { code, message } });
    }
  }

  /** Probes; and metrics, and what is registered, for anyone with a token. */
  async #answerOperator(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { environments, metrics } = this.#options;
    if (path === "/healthz" || path === "/readyz") {
      const fault = path === "/healthz" ? undefined : this.#unreadiness();
      sendText(response, fault === undefined ? 200 : 503, `${fault ?? "ok"}\n`);
      return;
    }
    if (path !== "/metrics" && path !== "/environments")
      throw new Refusal(404, "not_found", "there is nothing here");
    checkMethod(request, "GET");
    const token = await this.#authenticated(request);
    const all = [...environments];
    if (path === "/metrics") sendText(response, 200, metrics.page(all));
    else sendJson(response, 200, all.filter(({ id }) => token.isFor(id)).map(statusOf));
  }

  /** Why no client is admitted now. */
  #unreadiness(): string | undefined {
    const { isDraining, mayAdmit } = this.#options;
    if (isDraining()) return "draining";
    return mayAdmit() ? undefined : "the audit log cannot be written";
  }

  async #authenticated(request: IncomingMessage): Promise<RelayToken> {
    const token = await this.#options.authenticate(request);
    if ("refusal" in token) throw new Refusal(401, "unauthorized", token.refusal);
    return token;
  }

  #act(
    action: Action,
    { id, token, body, request }: { id: string; token: RelayToken; body: Body; request: IncomingMessage },
  ): object {
    switch (action) {
      case "register":
        return this.#register(id, token, body, request);
      case "connect":
        return this.#connect(id, token, body, request);
      case "validate":
        return { valid: this.#validate(id, token, body) };
    }
  }

  #register(id: string, token: RelayToken, body: Body, request: IncomingMessage): object {
    const key = readKey(body["executor_public_key"]);
    if (key === undefined || body["security_profile"] !== SECURITY_PROFILE)
      throw new Refusal(400, "invalid_request", "the request has no valid key of an executor");
    const url = this.#webSocketUrl(request);
    const environment = this.#options.environments.register(id, token.name, key, performance.now());
    return registrationOf(
      environment,
      url + rendezvousPath("executor", environment.registrationId, environment.secret),
    );
  }

  #connect(id: string, token: RelayToken, body: Body, request: IncomingMessage): object {
    const key = readKey(body["harness_public_key"]);
    if (key === undefined)
      throw new Refusal(400, "invalid_request", "the request has no valid key of a client");
    const url = this.#webSocketUrl(request);
    if (this.#options.isDraining()) throw new Refusal(503, "draining", "the relay is about to stop");
    if (!this.#options.mayAdmit())
      throw new Refusal(503, "audit_failed", "the relay cannot write its audit log; no client is admitted");
    const environment = this.#options.environments.get(id);
    if (environment === undefined) throw offline();
    const { secret, authorization } = environment.admit(token.name, key, performance.now());
    return {
      ...registrationOf(environment, url + rendezvousPath("client", environment.registrationId, secret)),
      executor_public_key: writeKey(environment.key),
      harness_key_authorization: authorization,
    };
  }

  #validate(id: string, token: RelayToken, body: Body): boolean {
    const environment = this.#options.environments.get(id);
    const key = readKey(body["harness_public_key"]);
    const { executor_registration_id: registrationId, harness_key_authorization: authorization } = body;
    if (key === undefined || typeof registrationId !== "string" || typeof authorization !== "string")
      throw new Refusal(400, "invalid_request", "the request is not complete");
    if (environment === undefined || environment.token !== token.name) return false;
    return environment.validate({ authorization, registrationId, key }, performance.now());
  }

  /** Nothing that is not encrypted is handed out for other machines. */
  #webSocketUrl(request: IncomingMessage): string {
    return this.#options.publicUrl(request).replace(/^http/, "ws");
  }
}

const PHRASES = { register: "register", connect: "connect to", validate: "serve" };

function checkRights(token: RelayToken, action: Action, id: string): void {
  const may = action === "connect" ? token.mayConnect : token.mayRegister;
  if (may && token.isFor(id)) return;
  throw new Refusal(403, "forbidden", `the token '${token.name}' may not ${PHRASES[action]} '${id}'`);
}

function registrationOf({ id, registrationId }: Environment, url: string): object {
  return {
    environment_id: id,
    url,
    security_profile: SECURITY_PROFILE,
    executor_registration_id: registrationId,
  };
}

function statusOf({ id, isOnline, clients, token, fingerprint }: Environment): EnvironmentStatus {
  return { environmentId: id, isOnline, streams: clients.size, token, key: fingerprint };
}

function checkMethod({ method }: IncomingMessage, expected: string): void {
  if (method !== expected) throw new Refusal(405, "method_not_allowed", `only ${expected} is allowed`);
}

function readId(encoded: string): string {
  let id = "";
  try {
    id = decodeURIComponent(encoded);
  } catch {
    // Refused below.
  }
  if (isEnvironmentId(id)) return id;
  throw new Refusal(
    400,
    "invalid_request",
    "an environment id has 1 to 256 visible characters, without blanks and '*'",
  );
}

/** Not by iterating, which would end the connection before there is an answer. */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= LIMITS.maxBodyBytes) chunks.push(chunk);
      else reject(new Refusal(413, "too_large", "the request is too long"));
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => reject(new Error("the request was aborted")));
  });
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const bytes = await readBytes(request);
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null) return value as Body;
  } catch {
    // Refused below.
  }
  throw new Refusal(400, "invalid_request", "the request is not a JSON object");
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, "application/json", JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, "text/plain; version=0.0.4; charset=utf-8", text);
}

/**
 * A connection carries one request. Codex's client asks only once when it has lost its executor, and would lose its
 * session if it asked on a kept connection that ends at that moment, as all do when a relay is restarted.
 */
function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    "content-type": type,
    "content-length": Buffer.byteLength(text),
    connection: "close",
  });
  response.end(text);
}
