import { createHash, timingSafeEqual } from "node:crypto";
import { messageOf, UsageError } from "../../base/errors.ts";
import { silentLogger } from "../../base/logger.ts";
import type { ClientCertificate } from "../../transport/websocket/client-certificates.ts";
import { AttemptBrake } from "./attempt-brake.ts";
import { bearerToken } from "./bearer-token.ts";
import type { Credential } from "./credential.ts";
import { principalOf } from "./principal.ts";
import { LoginLog } from "./refused-logins.ts";
import { createRights, FULL_RIGHTS, type RightsContext } from "./rights.ts";
import { checkSignedToken, type SignedTokenPolicy } from "./signed-token.ts";
import { TokenTable } from "./token-table.ts";

/** Who may open a connection. */
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

/** What a peer shows when it connects. */
export interface Presented {
  /** Its Authorization header. */
  readonly authorization: string | undefined;
  /** Its address, by which wrong tokens are slowed down, and for the log. */
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
  /** Rejects with a UsageError if the token table cannot be read; nobody is admitted then. */
  readonly ready: Promise<void>;
  /** Stops reading the token table. */
  close(): void;
}

/** A shorter secret could be guessed. */
export const MIN_SECRET_BYTES = 32;
const SHA256_BYTES = 32;

const TOO_MANY = "too many wrong tokens from this address; try again in some seconds";

/**
 * Logs who is refused, and why. Throws a UsageError for a policy that could admit the wrong ones, or nobody. Give it the
 * options of the server, on which the rights of tokens depend.
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
  const log = new LoginLog(context.logger);
  const brake = new AttemptBrake();
  const table = policy.mode === "token-table" ? TokenTable.open(policy.path, context) : undefined;
  const check = checkerOf(policy, context, table);
  const ready = Promise.resolve(table).then(() => {});
  ready.catch((error: unknown) =>
    context.logger.error("no client is admitted", { reason: messageOf(error) }),
  );
  const authenticate: Authenticate = async ({ authorization, from }) => {
    const answer = await decide(authorization, from);
    if ("refusal" in answer) log.refused(answer.refusal, from);
    return answer;
  };
  return {
    authenticate,
    ready,
    close: () =>
      void table?.then(
        (opened) => opened.close(),
        () => {},
      ),
  };

  async function decide(
    authorization: string | undefined,
    from: string | undefined,
  ): Promise<Authentication> {
    if (authorization === undefined) return { refusal: "missing websocket bearer token" };
    const token = bearerToken(authorization);
    if (token === undefined) return { refusal: "invalid authorization header" };
    // A right one that nobody can guess is never kept waiting: others may share its address, and guess all the time.
    const isGuessable = token.length < MIN_SECRET_BYTES;
    if (isGuessable && !(await brake.turn(from))) return { refusal: TOO_MANY };
    const answer = await check(token, authorization);
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
        "the mode of authentication must be capability-token, signed-bearer-token or token-table",
      );
  }
}

type Check = (token: string, authorization: string) => Authentication | Promise<Authentication>;

function checkerOf(
  policy: AuthenticationPolicy,
  context: RightsContext,
  table: Promise<TokenTable> | undefined,
): Check {
  switch (policy.mode) {
    case "capability-token":
      return (token) => {
        const presented = createHash("sha256").update(token).digest();
        return timingSafeEqual(presented, policy.tokenSha256)
          ? { credential: { principal: "token", rights: FULL_RIGHTS } }
          : { refusal: "invalid websocket bearer token" };
      };
    case "signed-bearer-token":
      return async (token, authorization) => {
        const signed = await checkSignedToken(token, policy);
        if ("refusal" in signed) return signed;
        const { rights: wanted, expiresAtMs } = signed;
        try {
          const rights = wanted === undefined ? FULL_RIGHTS : createRights(wanted, context);
          // Whoever signs tokens need not be whoever decides what runs as the server's own user.
          if (rights.runAs?.isOwn === true)
            throw new UsageError("run_as names the user of the server itself");
          return { credential: { principal: principalOf(policy, authorization), rights, expiresAtMs } };
        } catch (error) {
          if (!(error instanceof UsageError)) throw error;
          context.logger.warn("the rights of a signed token are invalid", { reason: error.message });
          return { refusal: "invalid websocket jwt" };
        }
      };
    case "token-table":
      return async (token) => (await table!).check(token);
  }
}
