import { type ListenAddress } from "../../server/serve/listen-address.ts";
import type { ServeOptions } from "../../server/index.ts";
import { checkedOrigin, publicHost } from "../../server/access/origins.ts";
import { usageError } from "./cli-error.ts";
import type { Flags } from "./flags.ts";

/** Flags about TLS and about who may reach the server at all, with the placeholders of their values. */
export const EXPOSURE_FLAGS = {
  "tls-cert": "PATH",
  "tls-key": "PATH",
  "tls-client-ca": "PATH",
  "public-url": "URL",
  "allow-origin": "ORIGIN",
};
export const REPEATABLE_EXPOSURE_FLAGS = ["public-url", "allow-origin"];
export const EXPOSURE_SWITCHES = ["allow-local-users"];

/** How the server can be reached, by flags or by the configuration file. */
export type Exposure = Pick<ServeOptions, "tls" | "publicUrls" | "allowOrigins" | "allowLocalUsers">;

/** Flags override the file. A key of the file that this address has no use for is ignored, a flag is an error. */
export function parseExposure(flags: Flags, configured: Exposure, address: ListenAddress): Exposure {
  const isNetwork = address.kind === "websocket";
  for (const name of [...Object.keys(EXPOSURE_FLAGS), ...EXPOSURE_SWITCHES])
    if (!isNetwork && flags.has(name))
      throw usageError(`the argument '--${name}' needs a WebSocket address: --listen ws:// or wss://`);
  if (!isNetwork) return {};
  const publicUrls = flags.has("public-url") ? flags.all("public-url") : configured.publicUrls;
  const allowOrigins = flags.has("allow-origin") ? flags.all("allow-origin") : configured.allowOrigins;
  for (const url of flags.all("public-url")) publicHost(url, "--public-url");
  for (const origin of flags.all("allow-origin")) checkedOrigin(origin, "--allow-origin");
  const tls = parseTls(flags, configured.tls, address.isSecure);
  return {
    ...(tls === undefined ? {} : { tls }),
    ...(publicUrls === undefined ? {} : { publicUrls }),
    ...(allowOrigins === undefined ? {} : { allowOrigins }),
    allowLocalUsers: flags.has("allow-local-users") || configured.allowLocalUsers === true,
  };
}

function parseTls(flags: Flags, configured: Exposure["tls"], isSecure: boolean): Exposure["tls"] {
  const cert = flags.get("tls-cert") ?? configured?.cert;
  const key = flags.get("tls-key") ?? configured?.key;
  const clientCa = flags.get("tls-client-ca") ?? configured?.clientCa;
  if (!isSecure) {
    const given = ["tls-cert", "tls-key", "tls-client-ca"].find((name) => flags.has(name));
    if (given === undefined) return undefined;
    throw usageError(`the argument '--${given} <PATH>' needs '--listen wss://IP:PORT'`);
  }
  if (cert === undefined || key === undefined)
    throw usageError("'--listen wss://…' needs '--tls-cert <PATH>' and '--tls-key <PATH>'");
  return { cert, key, ...(clientCa === undefined ? {} : { clientCa }) };
}
