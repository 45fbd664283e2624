import type { ClientTls } from "../../../client/link/client-tls.ts";
import { type Failure, usageFailure } from "../outcome/failure.ts";
import { isSshUrl, sshCommand } from "./program/ssh-command.ts";
import { executorToken } from "./executor-token.ts";
import { readToken } from "./read-token.ts";
import type { Target } from "./target.ts";
import type { TargetOptions } from "./target-options.ts";
import { noteTokenSource } from "../outcome/token-remedy.ts";

/** The name of the user's own server, where a name must be given. */
const OWN_NAME = "local";

/**
 * Finds the server: what the command line says, then what the environment says, a URL before a host; without either,
 * the user's own server.
 */
export async function resolveTarget(
  options: TargetOptions,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Target> {
  const { url, host, tokenFile } = options;
  if (url !== undefined && host !== undefined) throw usageFailure("give either -H or --url");
  const environmentUrl = nonEmpty(environment["EXEC_SERVER_URL"]);
  const place = url ?? (host === undefined ? environmentUrl : undefined);
  if (place !== undefined) {
    noteTokenSource("in EXEC_SERVER_TOKEN");
    const token = tokenFile === undefined ? nonEmpty(environment["EXEC_SERVER_TOKEN"]) : readToken(tokenFile);
    const tls = { ...tlsOf(place.startsWith("wss:") ? environmentTls(environment) : {}), ...tlsOf(options) };
    return { kind: "url", url: place, ...(token === undefined ? {} : { token }), ...tls };
  }
  const target = await namedTarget(host ?? nonEmpty(environment["EXEC_SERVER_HOST"]) ?? OWN_NAME);
  const tls = tlsOf(options);
  if (target.kind === "url") {
    noteTokenSource(`as auth_bearer_token of the host '${target.name}' in hosts.toml`);
    return { ...target, ...(tokenFile === undefined ? {} : { token: readToken(tokenFile) }), ...tls };
  }
  if (target.kind === "executor") {
    const [misplaced] = Object.keys(tls);
    if (misplaced !== undefined) throw misplacedForFleet(misplaced);
    const token = executorToken(target.fleet, options);
    return { ...target, ...(token === undefined ? {} : { token }) };
  }
  const [misplaced] = [...(tokenFile === undefined ? [] : ["token-file"]), ...Object.keys(tls)];
  if (misplaced === undefined) return target;
  throw usageFailure(`--${misplaced} is for a server with a URL; this one needs none`);
}

/** For an option that says how to reach a server with a URL. */
export function misplacedForFleet(option: string): Failure {
  return usageFailure(`--${option} is for a server with a URL; for a fleet, write it into hosts.toml`);
}

function environmentTls(environment: NodeJS.ProcessEnv): Partial<Record<TlsOption, string | undefined>> {
  return {
    ca: nonEmpty(environment["EXEC_SERVER_CA"]),
    cert: nonEmpty(environment["EXEC_SERVER_CERT"]),
    key: nonEmpty(environment["EXEC_SERVER_KEY"]),
  };
}

type TlsOption = "ca" | "cert" | "key";

/** Without what is not set. */
function tlsOf({ ca, cert, key }: Partial<Record<TlsOption, string | undefined>>): ClientTls {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

async function namedTarget(name: string): Promise<Target> {
  if (name === OWN_NAME) return { kind: "own" };
  if (isSshUrl(name)) return { kind: "program", name, command: sshCommand(name) };
  if (/^(?:wss?|ws\+unix):/.test(name)) throw usageFailure(`'${name}' is a URL; give it with --url`);
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

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
