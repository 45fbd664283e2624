import { checkedOrigin, publicHost } from "../../server/access/origins.ts";
import { messageOf } from "../../base/errors.ts";
import type { CliError } from "./cli-error.ts";
import type { Exposure } from "./exposure-flags.ts";

/** Keys of the configuration file about TLS and about who may reach the server at all. */
export const EXPOSURE_KEYS = ["tls", "public_urls", "allow_origins", "allow_local_users"];

type Refuse = (key: string, why: string) => CliError;

const TLS_KEYS: Readonly<Record<string, string>> = { cert: "cert", key: "key", client_ca: "clientCa" };

/** Reads these keys of a configuration file. */
export function exposureOf(file: Readonly<Record<string, unknown>>, refuse: Refuse): Exposure {
  const { tls, public_urls: urls, allow_origins: origins, allow_local_users: allowLocalUsers } = file;
  if (allowLocalUsers !== undefined && typeof allowLocalUsers !== "boolean")
    throw refuse("allow_local_users", "must be true or false");
  return {
    ...(tls === undefined ? {} : { tls: tlsOf(tls, refuse) }),
    ...(urls === undefined ? {} : { publicUrls: textsOf(urls, "public_urls", publicHost, refuse) }),
    ...(origins === undefined
      ? {}
      : { allowOrigins: textsOf(origins, "allow_origins", checkedOrigin, refuse) }),
    ...(allowLocalUsers === undefined ? {} : { allowLocalUsers }),
  };
}

function tlsOf(table: unknown, refuse: Refuse): NonNullable<Exposure["tls"]> {
  if (typeof table !== "object" || table === null || Array.isArray(table))
    throw refuse("tls", "must be a table with cert, key and client_ca");
  const tls: Record<string, string> = {};
  for (const [key, value] of Object.entries(table)) {
    const name = Object.hasOwn(TLS_KEYS, key) ? TLS_KEYS[key] : undefined;
    if (name === undefined) throw refuse(`tls.${key}`, "is not a known key");
    if (typeof value !== "string" || value === "") throw refuse(`tls.${key}`, "must be the path of a file");
    tls[name] = value;
  }
  const { cert, key, clientCa } = tls;
  if (cert === undefined || key === undefined) throw refuse("tls", "must have cert and key");
  return { cert, key, ...(clientCa === undefined ? {} : { clientCa }) };
}

function textsOf(
  value: unknown,
  key: string,
  check: (text: string) => unknown,
  refuse: Refuse,
): readonly string[] {
  if (!Array.isArray(value) || !value.every((each) => typeof each === "string"))
    throw refuse(key, "must be an array of texts");
  for (const each of value)
    try {
      check(each);
    } catch (error) {
      throw refuse(key, `holds an ${messageOf(error)}`);
    }
  return value;
}
