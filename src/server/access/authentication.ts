import { createHash, timingSafeEqual } from "node:crypto";
import { messageOf, UsageError } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { ClientCertificate } from "../../transport/websocket/client-certificates.ts";
import { AttemptBrake } from "./attempt-brake.ts";
import { bearerToken } from "./bearer-token.ts";
import type { Credential } from "./credential.ts";
import { signedTokenPrincipal } from "./principal.ts";
import { RefusalLog } from "./refusal-log.ts";
import { createRights, FULL_RIGHTS, principalNamed, type Rights, type RightsContext } from "./rights.ts";
import { checkSignedToken, type SignedTokenPolicy } from "./signed-token.ts";
import { rightsFormat } from "./token-file.ts";
import { TokenTable } from "./token-table.ts";

/** Policy that decides who may open a connection. */
export type AuthenticationPolicy =
  | {
      readonly mode: "capability-token";
      /** SHA-256 of the token, so the token itself need not be stored. */
      readonly tokenSha256: Buffer;
    }
  | (SignedTokenPolicy & { readonly mode: "signed-bearer-token" })
  | {
      readonly mode: "token-table";
      /** A file of named tokens, which is read again when it changes. */
      readonly path: string;
    };

/** Credentials that a peer presents when it connects. */
export interface Presented {
  /** Its Authorization header. */
  readonly authorization: string | undefined;
  /** Its address, for slowing down wrong tokens and for the log. */
  readonly from?: string;
  /** Its certificate, which has been verified. */
  readonly clientCertificate?: ClientCertificate;
}

/** The refusal message for the peer, or the credential with which it connects. */
export type Authentication = { readonly refusal: string } | { readonly credential: Credential };

export type Authenticate = (presented: Presented) => Promise<Authentication>;

/** Decides who may connect. */
export interface Authenticator {
  /** Rejects if the token table could not be read. */
  readonly authenticate: Authenticate;
  /** Rejects with a UsageError if the token table cannot be read; no client is admitted then. */
  readonly ready: Promise<void>;
  /** Stops reading the token table. */
  close(): void;
}

/** A shorter secret could be guessed. */
export const MIN_SECRET_BYTES = 32;
const SHA256_BYTES = 32;

const TOO_MANY = "too many wrong tokens from this address; try again in a few seconds";

/**
 * Logs refused peers and the reasons. Throws a UsageError for a policy that could admit the wrong clients, or none.
 * Pass the server's options, on which the rights of tokens depend.
 */
export function createAuthenticator(
  policy: AuthenticationPolicy,
  given: Partial<RightsContext> = {},
): Authenticator {
  checkPolicy(policy);
  const context: RightsContext = {
    temporaryDirectory: undefined,
    logger: silentLogger,
    hiddenPaths: [],
    fsRoots: [],
    ...given,
  };
  const table =
    policy.mode === "token-table"
      ? TokenTable.open(policy.path, rightsFormat(context), context.logger)
      : undefined;
  const authenticate = checkBearer(checkerOf(policy, context, table), context.logger, WIRE_TEXTS);
  const ready = Promise.resolve(table).then(() => {});
  ready.catch((error: unknown) =>
    context.logger.error("no client is admitted", { reason: messageOf(error) }),
  );
  return {
    authenticate,
    ready,
    close: () =>
      void table?.then(
        (opened) => opened.close(),
        () => {},
      ),
  };
}

/** Answers to a peer without a token, and to one with an unknown token. */
export interface RefusalTexts {
  readonly missing: string;
  readonly malformed: string;
}

/** In the wording of Codex's server. */
const WIRE_TEXTS: RefusalTexts = {
  missing: "missing websocket bearer token",
  malformed: "invalid authorization header",
};

type Checked<C> = { readonly refusal: string } | { readonly credential: C };

/** Checks the tokens that peers present, logs refusals, and slows down guessing. */
export function checkBearer<C>(
  check: (token: string) => Checked<C> | Promise<Checked<C>>,
  logger: Logger,
  texts: RefusalTexts,
): (presented: Pick<Presented, "authorization" | "from">) => Promise<Checked<C>> {
  const log = new RefusalLog(logger);
  const brake = new AttemptBrake();
  return async ({ authorization, from }) => {
    const answer = await decide(authorization, from);
    if ("refusal" in answer) log.refused(answer.refusal, from);
    return answer;
  };

  async function decide(authorization: string | undefined, from: string | undefined): Promise<Checked<C>> {
    if (authorization === undefined) return { refusal: texts.missing };
    const token = bearerToken(authorization);
    if (token === undefined) return { refusal: texts.malformed };
    // A valid token that is too long to guess never waits: others may share its address, and guess all the time.
    const isGuessable = token.length < MIN_SECRET_BYTES;
    if (isGuessable && !(await brake.turn(from))) return { refusal: TOO_MANY };
    const answer = await check(token);
    if (!("refusal" in answer)) return answer;
    brake.failed(from);
    return isGuessable || (await brake.turn(from)) ? answer : { refusal: TOO_MANY };
  }
}

function checkPolicy(policy: AuthenticationPolicy | null): void {
  switch (policy?.mode) {
    case "capability-token":
      if (policy.tokenSha256?.length === SHA256_BYTES) return;
      throw new UsageError("tokenSha256 must be the SHA-256 of the token, of 32 bytes");
    case "signed-bearer-token":
      if (policy.secret?.length >= MIN_SECRET_BYTES) return;
      throw new UsageError(`the secret must have at least ${MIN_SECRET_BYTES} bytes`);
    case "token-table":
      if (typeof policy.path === "string" && policy.path !== "") return;
      throw new UsageError("path must be the path of a token table");
    default:
      throw new UsageError(
        "the authentication mode must be capability-token, signed-bearer-token or token-table",
      );
  }
}

function checkerOf(
  policy: AuthenticationPolicy,
  context: RightsContext,
  table: Promise<TokenTable<Rights>> | undefined,
): (token: string) => Authentication | Promise<Authentication> {
  switch (policy.mode) {
    case "capability-token":
      return (token) => {
        const presented = createHash("sha256").update(token).digest();
        return timingSafeEqual(presented, policy.tokenSha256)
          ? { credential: { principal: "token", rights: FULL_RIGHTS } }
          : { refusal: "invalid websocket bearer token" };
      };
    case "signed-bearer-token":
      return async (token) => {
        const signed = await checkSignedToken(token, policy);
        if ("refusal" in signed) return signed;
        const { rights: wanted, expiresAtMs } = signed;
        try {
          const rights = wanted === undefined ? FULL_RIGHTS : createRights(wanted, context);
          // The issuer of tokens need not be allowed to decide what runs as the server's own user.
          if (rights.runAs?.isOwn === true) throw new UsageError("run_as names the server's own user");
          return { credential: { principal: signedTokenPrincipal(token), rights, expiresAtMs } };
        } catch (error) {
          if (!(error instanceof UsageError)) throw error;
          context.logger.warn("the rights of a signed token are invalid", { reason: error.message });
          return { refusal: "invalid websocket jwt" };
        }
      };
    case "token-table":
      return async (token) => {
        const checked = (await table!).check(token);
        if ("refusal" in checked) return { refusal: `${checked.refusal} websocket bearer token` };
        const { credential } = checked;
        return { credential: { ...credential, principal: principalNamed(credential.name) } };
      };
  }
}
