import { isLoopbackUrl } from "../../base/loopback-url.ts";
import { randomSecret } from "../../noise/keys.ts";
import type { RelayOptions } from "../../server/index.ts";
import { Failure, usageFailure } from "../shared/failure.ts";
import { fingerprintOf } from "../shared/relay-identity.ts";
import type { Flags } from "./flags.ts";
import { readAuthorizedClients, openIdentity } from "./relay-keys.ts";
import { StdinLines } from "./stdin-lines.ts";
import { credentialsFrom } from "./executor-credentials.ts";

/** Flags of remote mode with the placeholders of their values. */
export const REMOTE_FLAGS = {
  remote: "URL",
  "environment-id": "ID",
  name: "NAME",
  "remote-transport": "REMOTE_TRANSPORT",
  "aws-profile": "PROFILE",
  "aws-region": "REGION",
  "aws-service": "SERVICE",
  identity: "PATH",
  "authorized-clients": "PATH",
};

const CREDENTIAL_SWITCHES = ["executor-credential-stdin", "registration-bearer-stdin"];
const LOGIN = "it needs a login of OpenAI's, which a relay does not know";
const AWS = "it needs AWS, and lets the relay read everything";
/** What only OpenAI's own registry takes. */
const REFUSED = {
  "use-agent-identity-auth": LOGIN,
  "chatgpt-token-stdin": LOGIN,
  "chatgpt-account-id": LOGIN,
  "aws-sigv4": AWS,
  "aws-profile": AWS,
  "aws-region": AWS,
  "aws-service": AWS,
};
export const FORWARD_SWITCHES = [
  ...CREDENTIAL_SWITCHES,
  "exit-on-stdin-close",
  "use-agent-identity-auth",
  "aws-sigv4",
];
/** Flags of a server, which is not forwarded. */
export const REMOTE_SERVER_FLAGS = { ...REMOTE_FLAGS, "chatgpt-account-id": "ID" };
export const REMOTE_SERVER_SWITCHES = [...FORWARD_SWITCHES, "chatgpt-token-stdin"];

const NEED_REMOTE = [
  ...CREDENTIAL_SWITCHES,
  "exit-on-stdin-close",
  "identity",
  "authorized-clients",
  "remote-transport",
  ...Object.keys(REFUSED),
];
const MAX_BEARER_BYTES = 16 * 1024;

/** A relay to register with. */
export interface Remote {
  readonly options: RelayOptions;
  /** Of its key, for clients. */
  readonly fingerprint: string;
  /** Resolves when the program that started this one wants it to end; rejects if it says something that is wrong. */
  readonly stdinEnd: Promise<void> | undefined;
  /** Files that must be readable only by the operator. */
  readonly secrets: readonly string[];
}

/** Validates the flags; the returned function reads files and stdin. Undefined without `--remote`. */
export function parseRemote(flags: Flags): (() => Promise<Remote | undefined>) | undefined {
  readEnvironment(flags);
  const registry = flags.get("remote")?.trim();
  const environmentId = flags.get("environment-id");
  const isRemote = registry !== undefined || NEED_REMOTE.some((name) => flags.has(name));
  if (isRemote) requireFlags(flags, ["environment-id", "remote"]);
  if (registry === undefined) return undefined;
  const [first, second] = CREDENTIAL_SWITCHES.filter((name) => flags.has(name));
  if (second !== undefined) throw usageFailure(`the argument '--${first}' cannot be used with '--${second}'`);
  for (const [name, why] of Object.entries(REFUSED))
    if (flags.has(name)) throw usageFailure(`the argument '--${name}' is not supported: ${why}`);
  const transport = flags.choice("remote-transport", ["noise", "direct"]);
  if (transport === "direct") throw usageFailure(`'--remote-transport direct' is not supported: ${AWS}`);
  if (environmentId === undefined || environmentId.trim() === "")
    throw configurationFailure("environment id is required for remote exec-server registration");
  const url = URL.canParse(registry) ? new URL(registry) : undefined;
  if (url === undefined) throw new Failure(`invalid remote exec-server registration URL: ${registry}`);
  const isLocal = isLoopbackUrl(url);
  if (url.protocol !== "https:" && !isLocal)
    throw configurationFailure("remote transport requires https for non-loopback endpoints");
  return async () => {
    const stdin = flags.has("exit-on-stdin-close") || first !== undefined ? new StdinLines() : undefined;
    const credential = await readCredential(first, { stdin, environmentId, isLocal, flags });
    if (credential === undefined) return undefined;
    const file = flags.get("identity");
    const identity = file === undefined ? randomSecret() : openIdentity(file);
    const clients = flags.get("authorized-clients");
    const isAuthorized = clients === undefined ? undefined : readAuthorizedClients(clients);
    return {
      options: {
        registry,
        environmentId,
        bearer: credential.bearer,
        hidesAnswers: first !== undefined,
        identity,
        ...(isAuthorized === undefined ? {} : { isAuthorized }),
      },
      stdinEnd: credential.stdinEnd,
      fingerprint: await fingerprintOf(identity),
      secrets: [file, clients].filter((path) => path !== undefined),
    };
  };
}

interface Credential {
  readonly bearer: () => string;
  readonly stdinEnd: Promise<void> | undefined;
}

interface CredentialSource {
  readonly stdin: StdinLines | undefined;
  readonly environmentId: string;
  readonly isLocal: boolean;
  readonly flags: Flags;
}

/** The API key. No process that this server starts may inherit it: it could register in this server's place. */
function takeApiKey(): string | undefined {
  const key = process.env["CODEX_API_KEY"]?.trim();
  delete process.env["CODEX_API_KEY"];
  return key;
}

/** Undefined if stdin has ended, and the server should end with it. */
async function readCredential(
  from: string | undefined,
  { stdin, environmentId, isLocal, flags }: CredentialSource,
): Promise<Credential | undefined> {
  const endsWithStdin = flags.has("exit-on-stdin-close");
  const key = takeApiKey();
  if (from === "executor-credential-stdin") return credentialsFrom(stdin!, environmentId);
  const stdinEnd = endsWithStdin ? stdin!.ended : undefined;
  if (from === undefined) {
    if (!key)
      throw new Failure(
        "remote exec-server registration requires a credential: set CODEX_API_KEY, or use --registration-bearer-stdin or --executor-credential-stdin",
      );
    if (!isLocal)
      throw new Failure(
        "remote exec-server API-key authentication is restricted to loopback hosts; use --registration-bearer-stdin or --executor-credential-stdin",
      );
    stdin?.ignoreRest();
    return { bearer: () => key, stdinEnd };
  }
  const line = await stdin!.next(MAX_BEARER_BYTES);
  if (line === undefined && endsWithStdin && stdin!.isEmpty) return undefined;
  if (line === undefined)
    throw new Failure("expected a newline-terminated registration bearer of at most 16 KiB");
  const bearer = line.replace(/\r$/, "");
  if (!/^[\x21-\x7e]+$/.test(bearer)) throw new Failure("invalid registration bearer");
  stdin!.ignoreRest();
  return { bearer: () => bearer, stdinEnd };
}

/** As Codex's server says what is missing. */
export function requireFlags(flags: Flags, names: readonly string[]): void {
  const missing = names.filter((name) => !flags.has(name)).map((name) => `\n  ${flags.usage(name)}`);
  if (missing.length > 0)
    throw usageFailure(`the following required arguments were not provided:${missing.join("")}`);
}

/** A program that starts Codex's server may say it in the environment. */
function readEnvironment(flags: Flags): void {
  const value = process.env["CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE"];
  if (value === undefined || value === "false" || flags.has("exit-on-stdin-close")) return;
  if (value !== "true")
    throw usageFailure(
      `invalid value '${value}' for '--exit-on-stdin-close'\n  [possible values: true, false]`,
    );
  flags.set("exit-on-stdin-close", "");
}

function configurationFailure(message: string): Failure {
  return new Failure(`environment registry configuration error: ${message}`);
}
