import { messageOf } from "../../base/errors.ts";
import { checkedOrigin, publicHost } from "../../server/access/origins.ts";
import { isTable, type Refuse } from "../../server/access/read-rights.ts";
import type { ServeOptions } from "../../server/index.ts";
import { type ListenAddress } from "../../server/serve/listen-address.ts";
import { defined } from "../shared/defined.ts";
import { usageFailure } from "../shared/failure.ts";
import type { Flags } from "./flags.ts";

const TLS_FLAGS = { "tls-cert": "PATH", "tls-key": "PATH", "tls-client-ca": "PATH" };
/** Flags about TLS and admission, with the placeholders of their values. */
export const EXPOSURE_FLAGS = { ...TLS_FLAGS, "public-url": "URL", "allow-origin": "ORIGIN" };
export const REPEATABLE_EXPOSURE_FLAGS = ["public-url", "allow-origin"];
export const EXPOSURE_SWITCHES = ["allow-local-users"];

/** Exposure of the server, from flags or the configuration file. */
export type Exposure = Pick<ServeOptions, "tls" | "publicUrls" | "allowOrigins" | "allowLocalUsers">;

/**
 * Flags override the file. A key in the file that does not apply to this address is ignored; such a flag is an error.
 */
export function parseExposure(flags: Flags, configured: Exposure, address: ListenAddress): Exposure {
  if (address.kind !== "websocket") {
    const misplaced = [...Object.keys(EXPOSURE_FLAGS), ...EXPOSURE_SWITCHES].find((name) => flags.has(name));
    if (misplaced === undefined) return {};
    throw usageFailure(`the argument '--${misplaced}' needs a WebSocket address: --listen ws:// or wss://`);
  }
  for (const url of flags.all("public-url")) publicHost(url, "--public-url");
  for (const origin of flags.all("allow-origin")) checkedOrigin(origin, "--allow-origin");
  return defined({
    tls: parseTls(flags, configured.tls, address.isSecure),
    publicUrls: flags.has("public-url") ? flags.all("public-url") : configured.publicUrls,
    allowOrigins: flags.has("allow-origin") ? flags.all("allow-origin") : configured.allowOrigins,
    allowLocalUsers: flags.has("allow-local-users") || configured.allowLocalUsers === true,
  });
}

function parseTls(flags: Flags, configured: Exposure["tls"], isSecure: boolean): Exposure["tls"] {
  if (!isSecure) {
    const misplaced = Object.keys(TLS_FLAGS).find((name) => flags.has(name));
    if (misplaced === undefined) return undefined;
    throw usageFailure(`the argument '${flags.usage(misplaced)}' needs '--listen wss://IP:PORT'`);
  }
  const cert = flags.get("tls-cert") ?? configured?.cert;
  const key = flags.get("tls-key") ?? configured?.key;
  if (cert === undefined || key === undefined)
    throw usageFailure("'--listen wss://…' needs '--tls-cert <PATH>' and '--tls-key <PATH>'");
  return defined({ cert, key, clientCa: flags.get("tls-client-ca") ?? configured?.clientCa });
}

const TLS_KEYS = new Map([
  ["cert", "cert"],
  ["key", "key"],
  ["client_ca", "clientCa"],
]);

/** Reads the table `tls` of a configuration file. */
export function readTls(table: unknown, refuse: Refuse): NonNullable<Exposure["tls"]> {
  if (!isTable(table)) throw refuse("tls", "must be a table with cert, key and client_ca");
  const tls: Record<string, string> = {};
  for (const [key, value] of Object.entries(table)) {
    const name = TLS_KEYS.get(key);
    if (name === undefined) throw refuse(`tls.${key}`, "is not a known key");
    if (typeof value !== "string" || value === "") throw refuse(`tls.${key}`, "must be the path of a file");
    tls[name] = value;
  }
  const { cert, key, clientCa } = tls;
  if (cert === undefined || key === undefined) throw refuse("tls", "must have cert and key");
  return defined({ cert, key, clientCa });
}

/** Reads `public_urls` of a configuration file. */
export const readPublicUrls = textsReader("public_urls", publicHost);
/** Reads `allow_origins` of a configuration file. */
export const readOrigins = textsReader("allow_origins", checkedOrigin);

function textsReader(key: string, check: (text: string) => unknown) {
  return (value: unknown, refuse: Refuse): readonly string[] => {
    if (!Array.isArray(value) || !value.every((each) => typeof each === "string"))
      throw refuse(key, "must be an array of strings");
    for (const each of value)
      try {
        check(each);
      } catch (error) {
        throw refuse(key, `holds an ${messageOf(error)}`);
      }
    return value;
  };
}
