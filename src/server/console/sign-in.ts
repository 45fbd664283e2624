import type { IncomingMessage } from "node:http";
import { AttemptBrake } from "../access/attempt-brake.ts";
import type { Authentication, Authenticate, Presented } from "../access/authentication.ts";
import { bearerToken } from "../access/bearer-token.ts";
import type { ConsoleError } from "./answers.ts";
import type { LinkTokens } from "./link-tokens.ts";
import { type Holder, isSecret, type SessionSecrets } from "./session-secrets.ts";

/** More than any token has. */
const MAX_BODY_BYTES = 16 * 1024;

/** Where a request comes from. */
export type Caller = Omit<Presented, "authorization"> & { readonly from: string };

export interface SignInOptions {
  readonly links: LinkTokens<Holder["bearer"]>;
  readonly secrets: SessionSecrets;
  /** Checks tokens. Undefined without authentication: then only links are traded. */
  readonly authenticate: Authenticate | undefined;
  /** Whether `authenticate` checks tokens, and not only certificates. */
  readonly takesTokens: boolean;
  /** How a person gets another link. */
  readonly remedy: () => string;
  /** Called for each attempt that fails, except for those that `authenticate` reports itself. */
  readonly refused: (reason: string, from: string) => void;
}

/** How a browser gets in: with a link or a token it gets a secret, and with the secret a connection. */
export class SignIn {
  readonly #options: SignInOptions;
  readonly #brake = new AttemptBrake();

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** Trades the token of a link, or one of the person's, or a secret that is getting old. */
  async trade(body: unknown, caller: Caller): Promise<{ secret: string } | ConsoleError> {
    const { token, secret } = (typeof body === "object" && body !== null ? body : {}) as Record<
      string,
      unknown
    >;
    if (typeof secret === "string") return this.#renew(secret, caller);
    if (typeof token !== "string" || token === "") return BAD_REQUEST;
    const { links, secrets, takesTokens } = this.#options;
    const link = links.spend(token);
    if (link.state === "valid") {
      const holder = { bearer: link.holder };
      const answer = await this.#check(holder, caller);
      return "refusal" in answer ? this.#with(refusedLink(answer.refusal)) : { secret: secrets.seal(holder) };
    }
    // Without authentication, or for a link that was one, the reason is known here.
    if (link.state !== "unknown" || !takesTokens)
      return this.#failed(this.#with(LINK_ERRORS[link.state]), caller);
    const answer = await this.#check({ bearer: token }, caller);
    return "refusal" in answer ? wrongToken(answer.refusal) : { secret: secrets.seal({ bearer: token }) };
  }

  /** Admits a page of the server's own origin, with what it shows as the token of its connection. */
  async admit({ authorization, from = "unknown", ...rest }: Presented): Promise<PageAdmission> {
    const shown = bearerToken(authorization ?? "");
    if (shown === undefined) return this.#notAdmitted("a page showed no session", from);
    const { secrets, takesTokens } = this.#options;
    const caller = { from, ...rest };
    if (!isSecret(shown) && takesTokens) return this.#check({ bearer: shown }, caller);
    const holder = secrets.open(shown);
    if (holder === undefined || (holder.bearer !== undefined) !== takesTokens)
      return this.#notAdmitted("the session of a page is invalid or over", from);
    return this.#check(holder, caller);
  }

  async #renew(secret: string, caller: Caller): Promise<{ secret: string } | ConsoleError> {
    const admission = await this.admit({ authorization: `Bearer ${secret}`, ...caller });
    const holder = this.#options.secrets.open(secret);
    return "refusal" in admission || holder === undefined
      ? this.#with(SESSION_OVER)
      : { secret: this.#options.secrets.seal(holder) };
  }

  async #check({ bearer }: Holder, caller: Caller): Promise<PageAdmission> {
    const { authenticate } = this.#options;
    if (authenticate === undefined) return { credential: undefined };
    return authenticate({
      authorization: bearer === undefined ? undefined : `Bearer ${bearer}`,
      ...caller,
    });
  }

  async #failed(error: ConsoleError, { from }: Caller): Promise<ConsoleError> {
    this.#brake.failed(from);
    this.#options.refused(error.error, from);
    return (await this.#brake.turn(from)) ? error : TOO_MANY;
  }

  #with({ message, ...error }: ConsoleError): ConsoleError {
    return { ...error, message: `${message}; ${this.#options.remedy()}` };
  }

  #notAdmitted(refusal: string, from: string): { refusal: string } {
    this.#options.refused(refusal, from);
    return { refusal };
  }
}

/** With an undefined credential, the page acts for the user of the server. */
export type PageAdmission = Authentication | { readonly credential: undefined };

/** The body of a request as JSON. */
export async function readJson(request: IncomingMessage): Promise<{ value: unknown } | ConsoleError> {
  const type = request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") return WRONG_TYPE;
  // Pages send it. A longer body is not read at all.
  const length = Number(request.headers["content-length"] ?? Number.NaN);
  if (!(length <= MAX_BODY_BYTES)) return TOO_LONG;
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  try {
    return { value: JSON.parse(Buffer.concat(parts).toString("utf8")) as unknown };
  } catch {
    return BAD_REQUEST;
  }
}

/** Their messages end in the remedy. */
const LINK_ERRORS: Readonly<Record<"spent" | "expired" | "unknown", ConsoleError>> = {
  spent: { status: 410, error: "link-spent", message: "This link has been used already" },
  expired: { status: 410, error: "link-expired", message: "This link has expired" },
  unknown: {
    status: 401,
    error: "link-unknown",
    message: "This link is not one of this server's, or is older than its last start",
  },
};

const SESSION_OVER: ConsoleError = {
  status: 401,
  error: "session-over",
  message: "This session is over",
};

const TOO_MANY: ConsoleError = {
  status: 429,
  error: "too-many-attempts",
  message: "Too many wrong links from this address; try again in some seconds",
};

const BAD_REQUEST: ConsoleError = {
  status: 400,
  error: "bad-request",
  message: 'The body must be JSON such as { "token": "…" }',
};

const WRONG_TYPE: ConsoleError = {
  status: 415,
  error: "wrong-content-type",
  message: "The content type must be application/json",
};

const TOO_LONG: ConsoleError = { status: 413, error: "too-long", message: "The body is too long" };

/** What it was made with has been withdrawn since, or has expired. */
function refusedLink(refusal: string): ConsoleError {
  return {
    status: 401,
    error: "link-refused",
    message: `The server refuses the login that this link was made with: ${refusal}`,
  };
}

function wrongToken(refusal: string): ConsoleError {
  return { status: 401, error: "token-refused", message: `The server does not take this token: ${refusal}` };
}
