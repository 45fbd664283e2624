import { type IncomingMessage, request as httpRequest, STATUS_CODES } from "node:http";
import { request as httpsRequest } from "node:https";
import { after, formatDuration } from "../base/duration.ts";
import { ConnectionError, ProtocolError, UsageError } from "../base/errors.ts";
import { isLoopbackUrl } from "../base/loopback-url.ts";
import type { PublicKey } from "../noise/keys.ts";
import type { ClientTlsMaterial } from "../transport/websocket/connect-websocket.ts";
import { type EnvironmentStatus, isEnvironmentStatus } from "./environment-status.ts";
import { readKey, SECURITY_PROFILE, writeKey } from "./wire-key.ts";

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/** A list of as many environments as a relay can have, with the longest ids. */
const MAX_LIST_BYTES = 32 * 1024 * 1024;
/** Text of an answer that is no error of a registry. */
const MAX_SHOWN_CHARACTERS = 4096;

const INVALID_JSON = "failed to serialize or deserialize exec-server JSON";

/** What the registry calls an environment whose executor is not connected. */
const OFFLINE = "environment_offline";

/** The registry has answered, and refuses. Users of the library see a ConnectionError. */
export class RegistryError extends ConnectionError {
  override readonly name = "ConnectionError";
  /** What the registry calls it, such as `environment_offline`. */
  readonly registryCode: string | undefined;

  constructor(message: string, status: number, registryCode: string | undefined) {
    // An environment that is offline may come back, so it is no refusal.
    const isFinal = registryCode !== OFFLINE;
    const code = status === 401 || status === 403 ? "UNAUTHORIZED" : "CONNECTION_CLOSED";
    super(message, { code, ...(isFinal ? { status } : {}) });
    this.registryCode = registryCode;
  }
}

export interface Registration {
  /** Where to meet; it is a secret by itself. */
  readonly url: string;
  readonly registrationId: string;
}

export interface HarnessConnection extends Registration {
  readonly executorKey: PublicKey;
  /** Proves to the executor that the registry has admitted this harness. */
  readonly authorization: string;
}

export interface RegistryOptions {
  /** Address of the registry, such as `https://relay.example/base`. */
  readonly base: string;
  readonly environmentId: string;
  /** Read for each request: credentials may be renewed. */
  readonly bearer: () => string | undefined;
  readonly tls?: ClientTlsMaterial;
  /** Leaves out what the registry says: it may repeat a credential. */
  readonly hidesAnswers?: boolean;
}

/** Asks a registry about one environment. */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #base: URL;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#base = parseBase(options.base);
  }

  async register(key: PublicKey, signal: AbortSignal): Promise<Registration> {
    const body = { security_profile: SECURITY_PROFILE, executor_public_key: writeKey(key) };
    return this.#registration(await this.#post("register", body, signal));
  }

  async connect(key: PublicKey, signal: AbortSignal): Promise<HarnessConnection> {
    const answer = await this.#post("connect", { harness_public_key: writeKey(key) }, signal);
    const executorKey = readKey(answer["executor_public_key"]);
    const authorization = answer["harness_key_authorization"];
    const registration = this.#registration(answer);
    const isComplete = typeof authorization === "string" && authorization.trim() !== "";
    if (executorKey === undefined || !isComplete || registration.registrationId.trim() === "")
      throw new ProtocolError(
        "exec-server protocol error: environment registry returned incomplete Noise connection data",
      );
    return { ...registration, executorKey, authorization };
  }

  /** Whether the registry has admitted the harness that has this key. */
  async validate(
    { registrationId, key, authorization }: { registrationId: string; key: PublicKey; authorization: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = {
      executor_registration_id: registrationId,
      harness_public_key: writeKey(key),
      harness_key_authorization: authorization,
    };
    return (await this.#post("validate", body, signal))["valid"] === true;
  }

  #registration(answer: Readonly<Record<string, unknown>>): Registration {
    const { environment_id, security_profile, url, executor_registration_id: registrationId } = answer;
    if (environment_id !== this.#options.environmentId)
      throw new ProtocolError(
        "exec-server protocol error: environment registry returned a different environment id",
      );
    if (security_profile !== SECURITY_PROFILE)
      throw new ProtocolError(
        `exec-server protocol error: environment registry returned unsupported security profile \`${String(security_profile)}\``,
      );
    if (typeof url !== "string" || typeof registrationId !== "string")
      throw new ProtocolError(`${INVALID_JSON}: url or executor_registration_id is missing`);
    return { url, registrationId };
  }

  async #post(action: string, body: object, signal: AbortSignal): Promise<Answer> {
    const { environmentId } = this.#options;
    const path = `/cloud/environment/${encodeURIComponent(environmentId)}/${action}`;
    const response = await send(this.#base, path, { ...this.#options, signal, body: JSON.stringify(body) });
    if (response.status < 200 || response.status > 299)
      throw refusal(response, this.#options.hidesAnswers ?? false);
    const answer = parseObject(response.text);
    if (answer === undefined)
      throw new ProtocolError(`${INVALID_JSON}: the environment registry returned no JSON object`);
    return answer;
  }
}

/** What a relay of this project knows about its environments. */
export async function listEnvironments(
  options: Pick<RegistryOptions, "base" | "bearer" | "tls"> & { readonly signal: AbortSignal },
): Promise<readonly EnvironmentStatus[]> {
  const response = await send(parseBase(options.base), "/environments", {
    ...options,
    maxAnswerBytes: MAX_LIST_BYTES,
  });
  if (response.status !== 200) throw refusal(response, false);
  const listed = parseObject(response.text);
  if (!Array.isArray(listed) || !listed.every(isEnvironmentStatus))
    throw new ProtocolError(`${options.base} is not an exec-server relay`);
  return listed;
}

type Answer = Readonly<Record<string, unknown>>;

interface Response {
  readonly status: number;
  readonly text: string;
}

interface SendOptions extends Pick<RegistryOptions, "bearer" | "tls"> {
  readonly signal: AbortSignal;
  /** Without it, it is a GET. */
  readonly body?: string;
  readonly maxAnswerBytes?: number;
}

async function send(
  base: URL,
  path: string,
  { bearer, tls = {}, signal, body, maxAnswerBytes = MAX_ANSWER_BYTES }: SendOptions,
): Promise<Response> {
  const url = new URL(`${withoutSlash(base.pathname)}${path}`, base);
  const open = base.protocol === "https:" ? httpsRequest : httpRequest;
  const credential = bearer();
  return new Promise<Response>((resolve, reject) => {
    const request = open(url, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      },
      signal,
      agent: false,
      ...tls,
    });
    const cancel = after(TIMEOUT_MS, () => {
      const text = `environment registry request failed: no answer of ${url.href} within ${formatDuration(TIMEOUT_MS)}`;
      request.destroy(new ConnectionError(text, { code: "TIMED_OUT" }));
    });
    request.on("error", reject);
    request.on("close", cancel);
    request.on("response", (answer) => {
      readText(answer, maxAnswerBytes).then(
        (text) => resolve({ status: answer.statusCode ?? 0, text }),
        reject,
      );
    });
    request.end(body);
  }).catch((cause: unknown) => {
    signal.throwIfAborted();
    if (cause instanceof ConnectionError) throw cause;
    const { message, code } = cause as NodeJS.ErrnoException;
    throw new ConnectionError(
      `environment registry request failed: error sending request for url (${url.href}): ${message}`,
      { cause, errno: code },
    );
  });
}

function refusal({ status, text }: Response, hidesAnswers: boolean): RegistryError {
  const error = parseObject(text)?.["error"] as { code?: unknown; message?: unknown } | undefined;
  const code = typeof error?.code === "string" ? error.code : undefined;
  const said = typeof error?.message === "string" ? error.message : text.slice(0, MAX_SHOWN_CHARACTERS);
  if (hidesAnswers && (status === 401 || status === 403))
    return new RegistryError(`the relay refused the token (${status})`, status, code);
  const named = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  const shownCode = code === undefined || hidesAnswers ? "" : `, ${code}`;
  const message =
    status === 401 || status === 403
      ? `authentication error: environment registry authentication failed (${named}): ${said}`
      : `request failed (${named}${shownCode}): ${hidesAnswers ? "environment registry executor registration failed" : said}`;
  return new RegistryError(`environment registry ${message}`, status, code);
}

/** Throws a UsageError before anything is sent. */
function parseBase(base: string): URL {
  const url = URL.canParse(base.trim()) ? new URL(base.trim()) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "")
    throw new UsageError(`'${base}' is not the address of a registry; write https://HOST[:PORT][/PATH]`);
  if (url.protocol === "http:" && !isLoopbackUrl(url))
    throw new UsageError(
      `'${base}' is on another machine, and others on the network could read the token; use https:// (relay+https:// in URLs)`,
    );
  return url;
}

/** Without the slashes at its end. */
function withoutSlash(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

async function readText(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the registry knows no executor for the environment at the moment. */
export function isOffline(error: unknown): boolean {
  return error instanceof RegistryError && error.registryCode === OFFLINE;
}
