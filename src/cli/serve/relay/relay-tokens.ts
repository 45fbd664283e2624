import { isEnvironmentPattern } from "../../../relay/environment-id.ts";
import type { RelayToken } from "../../../relay/service/registry-api.ts";
import type { TokenFormat } from "../../../server/access/token-file.ts";

const ACTIONS = ["register", "connect"] as const;
const MAX_PATTERNS = 64;

/** What a token of a relay may do. */
export interface RelayRights extends Omit<RelayToken, "name"> {
  readonly key: string;
}

/** Tokens for a relay: `may` says what they may do, `environments` with which. */
export const relayFormat: TokenFormat<RelayRights> = {
  keys: ["may", "environments"],
  reader: () => (table, refuse) => {
    const { may, environments } = table;
    if (!Array.isArray(may) || may.length === 0 || !may.every((action) => ACTIONS.includes(action)))
      throw refuse("may", 'must be an array of "register" and "connect"');
    if (environments === undefined)
      throw refuse("environments", 'is missing; name them, or write environments = ["*"] for all');
    if (!Array.isArray(environments) || environments.length > MAX_PATTERNS || !environments.every(isPattern))
      throw refuse(
        "environments",
        'must be an array of names such as "build-1", or of their starts such as "build-*"',
      );
    return relayRights(may as readonly Action[], environments);
  },
};

type Action = (typeof ACTIONS)[number];

function relayRights(may: readonly Action[], patterns: readonly string[]): RelayRights {
  return {
    key: JSON.stringify([[...may].sort(), patterns]),
    mayRegister: may.includes("register"),
    mayConnect: may.includes("connect"),
    isFor: (id) =>
      patterns.some((pattern) =>
        pattern.endsWith("*") ? id.startsWith(pattern.slice(0, -1)) : id === pattern,
      ),
  };
}

function isPattern(value: unknown): value is string {
  return typeof value === "string" && isEnvironmentPattern(value);
}
