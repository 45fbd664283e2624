import type { IncomingMessage } from "node:http";
import { endsOf } from "../../../base/connection-ends.ts";
import type { Logger } from "../../../base/logger.ts";
import type { RegistryApiOptions, RelayToken } from "../../../relay/service/registry-api.ts";
import { checkBearer } from "../../../server/access/authentication.ts";
import { refuseOtherUser } from "../../../server/access/local-users.ts";
import { RefusalLog } from "../../../server/access/refusal-log.ts";
import { type PresentedToken, TokenTable } from "../../../server/access/token-table.ts";
import { addressOf } from "../../../transport/websocket/socket-address.ts";
import { type RelayRights, relayFormat } from "./relay-tokens.ts";

/** What stands for a token on a relay without a table. */
const ANYONE: RelayToken = { name: "anyone", mayRegister: true, mayConnect: true, isFor: () => true };
/** How often expired tokens are looked for. */
const EXPIRY_CHECK_MS = 1_000;
const TEXTS = {
  missing: "this relay requires a token",
  malformed: "the Authorization header is not 'Bearer TOKEN'",
};
const REFUSED = { invalid: "this relay does not know the token", expired: "the token has expired" };

type Authenticate = RegistryApiOptions["authenticate"];

/** Without a table: this user and root, on this machine. */
export function admitOwnUser(logger: Logger): Authenticate {
  const log = new RefusalLog(logger);
  return async ({ socket }) => {
    const ends = endsOf(socket);
    const refusal =
      ends === undefined
        ? "the connection has no other end"
        : refuseOtherUser(ends, log, "start the relay with --tokens");
    return refusal === undefined ? ANYONE : { refusal };
  };
}

/** Admits the tokens of a table. Calls `ended` with the name of one that may no longer do what it could. */
export async function admitTokens(
  path: string,
  logger: Logger,
  ended: (token: string) => void,
): Promise<Authenticate> {
  const table = await TokenTable.open(path, relayFormat, logger);
  /** Tokens that have been used, and have not ended. */
  const used = new Map<AbortSignal, PresentedToken<RelayRights>>();
  const end = ({ withdrawn, name }: PresentedToken<RelayRights>): void => {
    if (used.delete(withdrawn)) ended(name);
  };
  const use = (credential: PresentedToken<RelayRights>): void => {
    const { withdrawn } = credential;
    if (used.has(withdrawn)) return;
    used.set(withdrawn, credential);
    withdrawn.addEventListener("abort", () => end(credential), { once: true });
  };
  // Not by a timer for each: the clock may be set.
  setInterval(() => {
    for (const credential of used.values())
      if ((credential.expiresAtMs ?? Number.POSITIVE_INFINITY) <= Date.now()) end(credential);
  }, EXPIRY_CHECK_MS).unref();
  const check = checkBearer(
    (token) => {
      const checked = table.check(token);
      return "refusal" in checked ? { refusal: REFUSED[checked.refusal] } : checked;
    },
    logger,
    TEXTS,
  );
  return async ({ headers, socket }: IncomingMessage) => {
    const checked = await check({ authorization: headers.authorization, from: addressOf(socket) });
    if ("refusal" in checked) return checked;
    const { name, rights } = checked.credential;
    use(checked.credential);
    return { ...rights, name };
  };
}
