import type { ClientTls } from "../../../client/link/client-tls.ts";
import { defined } from "../../shared/defined.ts";
import { type Failure, noteTokenSource, usageFailure } from "../../shared/failure.ts";
import { readToken } from "../arguments.ts";
import { canBring } from "./program/bring/bring.ts";
import { isSshUrl, sshCommand } from "./program/ssh-command.ts";
import type { NamedFleet, Target } from "./target.ts";
import type { TargetOptions } from "./target-options.ts";

/** The name of the user's own server, where a name is required. */
const OWN_NAME = "local";
/** In place of a URL: a server that ends with the command, and is confined like it. */
const STDIO = "stdio";
const SERVER_FOR_ONE: Target = {
  kind: "program",
  name: STDIO,
  command: [process.execPath, process.argv[1] ?? "", "serve", "--listen", STDIO],
  usesTerminal: false,
};

/**
 * Finds the server: what the command line says, then what the environment says, a URL before a host; without either,
 * the user's own server.
 */
export async function resolveTarget(options: TargetOptions): Promise<Target> {
  const { url, host, tokenFile } = options;
  const { EXEC_SERVER_URL, EXEC_SERVER_TOKEN, EXEC_SERVER_HOST } = process.env;
  if (url !== undefined && host !== undefined) throw usageFailure("use either -H or --url");
  const tls = tlsOf(options);
  const serverUrl = url ?? (host === undefined && EXEC_SERVER_URL ? EXEC_SERVER_URL : undefined);
  if (serverUrl !== undefined && serverUrl !== STDIO) {
    noteTokenSource("in EXEC_SERVER_TOKEN");
    const token = readToken(tokenFile) ?? (EXEC_SERVER_TOKEN || undefined);
    const fallback = /^(?:wss|relay\+https):/.test(serverUrl) ? environmentTls() : {};
    return { kind: "url", url: serverUrl, ...defined({ token }), ...fallback, ...tls };
  }
  const target =
    serverUrl === STDIO
      ? SERVER_FOR_ONE
      : withBringing(await namedTarget(host ?? (EXEC_SERVER_HOST || OWN_NAME)), options);
  if (target.kind === "url") {
    noteTokenSource(`as auth_bearer_token of the host '${target.name}' in hosts.toml`);
    return { ...target, ...defined({ token: readToken(tokenFile) }), ...tls };
  }
  if (target.kind === "executor") {
    const [misplaced] = Object.keys(tls);
    if (misplaced !== undefined) throw misplacedForFleet(misplaced);
    return { ...target, ...defined({ token: executorToken(target.fleet, options) }) };
  }
  const [misplaced] = [...(tokenFile === undefined ? [] : ["token-file"]), ...Object.keys(tls)];
  if (misplaced === undefined) return target;
  throw usageFailure(`--${misplaced} is for a server with a URL; this one needs none`);
}

/**
 * The token for a fleet's executors: from the command line, otherwise from hosts.toml. The one in the environment is
 * for a URL.
 */
export function executorToken(
  { name, token }: Pick<NamedFleet, "name" | "token">,
  { tokenFile }: Pick<TargetOptions, "tokenFile">,
): string | undefined {
  noteTokenSource(`as auth_bearer_token of [fleets.${name}] in hosts.toml`);
  return readToken(tokenFile) ?? token;
}

/** The error for an option that only applies to a server with a URL. */
export function misplacedForFleet(option: string): Failure {
  return usageFailure(`--${option} is for a server with a URL; for a fleet, write it into hosts.toml`);
}

/** The TLS options that are set. */
export function tlsOf({ ca, cert, key }: Pick<TargetOptions, "ca" | "cert" | "key">): ClientTls {
  return defined({ ca, cert, key });
}

function environmentTls(): ClientTls {
  const { EXEC_SERVER_CA: ca, EXEC_SERVER_CERT: cert, EXEC_SERVER_KEY: key } = process.env;
  return defined({ ca: ca || undefined, cert: cert || undefined, key: key || undefined });
}

function withBringing(target: Target, { bring }: TargetOptions): Target {
  return target.kind === "program" && bring !== false && canBring(target.command)
    ? { ...target, brings: true }
    : target;
}

async function namedTarget(name: string): Promise<Target> {
  if (name === OWN_NAME) return { kind: "own" };
  if (isSshUrl(name)) return { kind: "program", name, command: sshCommand(name) };
  if (/^(?:wss?|ws\+unix|relay\+https?):/.test(name))
    throw usageFailure(`'${name}' is a URL; pass it with --url`);
  if (name.includes("/")) return await executorNamed(name);
  const { findHost } = await import("./hosts/find-host.ts");
  return findHost(name);
}

/** `FLEET/NAME`. */
async function executorNamed(name: string): Promise<Target> {
  const [fleet = "", id = "", ...rest] = name.split("/");
  if (fleet === "" || id === "" || rest.length > 0)
    throw usageFailure(`'${name}' is not an executor; write FLEET/NAME`);
  const { findFleet } = await import("./hosts/find-fleet.ts");
  return { kind: "executor", name, fleet: findFleet(fleet), id };
}
