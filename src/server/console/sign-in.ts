import type { IncomingMessage } from "node:http";
import { AttemptBrake } from "../access/attempt-brake.ts";
import type { Authentication, Presented } from "../access/authentication.ts";
import { bearerToken } from "../access/bearer-token.ts";
import { type ConsoleError, consoleError } from "./answers.ts";
import type { LinkTokens } from "./link-tokens.ts";
import { type Holder, isSecret, type SessionSecrets } from "./session-secrets.ts";

/** More than any token has. */
const MAX_BODY_BYTES = 16 * 1024;

/** The origin of a request. */
export type Caller = Omit<Presented, "authorization"> & { readonly from: string };

export interface SignInOptions {
  readonly links: LinkTokens<Holder["bearer"]>;
  readonly secrets: SessionSecrets;
  /** Checks tokens. Without authentication it admits everyone, because then only links are traded. */
  readonly authenticate: (presented: Presented) => Promise<PageAdmission>;
  /** Whether `authenticate` checks tokens, and not only certificates. */
  readonly takesTokens: boolean;
  /** Tells a person how to get another link. */
  readonly remedy: () => string;
  /** Called for each failed attempt, except for those that `authenticate` reports itself. */
  readonly refused: (reason: string, from: string) => void;
}

/** Signs browsers in: a link or a token yields a secret, and the secret a connection. */
export class SignIn {
  readonly #options: SignInOptions;
  readonly #brake = new AttemptBrake();

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** Trades the token of a link, or one of the person's, or a secret that is getting old. */
  async trade(body: unknown, caller: Caller): Promise<{ secret: string } | ConsoleError> {
    // Any other body has neither of these.
    const { token, secret } = (body ?? {}) as { readonly [name: string]: unknown };
    if (typeof secret === "string") return this.#renew(secret, caller);
    if (typeof token !== "string" || token === "") return BAD_REQUEST;
    const { links, secrets, takesTokens } = this.#options;
    const link = links.spend(token);
    if (link.state === "valid") {
      const holder = { bearer: link.holder };
      const answer = await this.#check(holder, caller);
      return "refusal" in answer ? this.#with(refusedLink(answer.refusal)) : { secret: secrets.seal(holder) };
    }
    // Without authentication, or for a link that used to be valid, the reason is known here.
    if (link.state !== "unknown" || !takesTokens) return this.#failed(LINK_ERRORS[link.state], caller);
    const answer = await this.#check({ bearer: token }, caller);
    return "refusal" in answer ? wrongToken(answer.refusal) : { secret: secrets.seal({ bearer: token }) };
  }

  /** Admits a page of the server's own origin, which presents a secret as its connection's token. */
  async admit({ authorization, from = "unknown", ...rest }: Presented): Promise<PageAdmission> {
    const shown = bearerToken(authorization ?? "");
    if (shown === undefined) return this.#notAdmitted("a page sent no session", from);
    const { secrets, takesTokens } = this.#options;
    const caller = { from, ...rest };
    if (!isSecret(shown) && takesTokens) return this.#check({ bearer: shown }, caller);
    const holder = secrets.open(shown);
    if (holder === undefined || (holder.bearer !== undefined) !== takesTokens)
      return this.#notAdmitted("a page's session is invalid or expired", from);
    return this.#check(holder, caller);
  }

  async #renew(secret: string, caller: Caller): Promise<{ secret: string } | ConsoleError> {
    const admission = await this.admit({ authorization: `Bearer ${secret}`, ...caller });
    const holder = this.#options.secrets.open(secret);
    return "refusal" in admission || holder === undefined
      ? this.#with(SESSION_OVER)
      : { secret: this.#options.secrets.seal(holder) };
  }

  #check({ bearer }: Holder, caller: Caller): Promise<PageAdmission> {
    const authorization = bearer === undefined ? undefined : `Bearer ${bearer}`;
    return this.#options.authenticate({ authorization, ...caller });
  }

  async #failed(error: ConsoleError, { from }: Caller): Promise<ConsoleError> {
    this.#brake.failed(from);
    this.#options.refused(lowerFirst(error.message), from);
    return (await this.#brake.turn(from)) ? this.#with(error) : TOO_MANY;
  }

  #with({ message, ...error }: ConsoleError): ConsoleError {
    return { ...error, message: `${message}; ${this.#options.remedy()}` };
  }

  #notAdmitted(refusal: string, from: string): { refusal: string } {
    this.#options.refused(refusal, from);
    return { refusal };
  }
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
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

/** Their messages end with the remedy. */
const LINK_ERRORS: Readonly<Record<"spent" | "expired" | "unknown", ConsoleError>> = {
  spent: consoleError(410, "link-spent", "This link has already been used"),
  expired: consoleError(410, "link-expired", "This link has expired"),
  unknown: consoleError(
    401,
    "link-unknown",
    "This link is from another server, or from before this one was restarted",
  ),
};

const SESSION_OVER = consoleError(401, "session-over", "This session is over");
const TOO_MANY = consoleError(
  429,
  "too-many-attempts",
  "Too many wrong links from this address; try again in a few seconds",
);
const BAD_REQUEST = consoleError(400, "bad-request", 'The body must be JSON such as { "token": "…" }');
const WRONG_TYPE = consoleError(415, "wrong-content-type", "The content type must be application/json");
const TOO_LONG = consoleError(413, "too-long", "The body is too long");

/** The token it was made with has been revoked or has expired. */
function refusedLink(refusal: string): ConsoleError {
  const message = `The server refuses the login that this link was made with: ${refusal}`;
  return consoleError(401, "link-refused", message);
}

function wrongToken(refusal: string): ConsoleError {
  return consoleError(401, "token-refused", `The server does not accept this token: ${refusal}`);
}
