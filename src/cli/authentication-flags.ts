import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describeErrno } from "../capabilities/os-error.ts";
import type { AuthenticationPolicy } from "../server/authentication.ts";
import { failure, usageError } from "./cli-error.ts";

/** The flags, and how their values are called. */
export const AUTHENTICATION_FLAGS = {
  "ws-auth": "MODE",
  "ws-token-file": "PATH",
  "ws-token-sha256": "HEX",
  "ws-shared-secret-file": "PATH",
  "ws-issuer": "ISSUER",
  "ws-audience": "AUDIENCE",
  "ws-max-clock-skew-seconds": "SECONDS",
};

const MODES = ["capability-token", "signed-bearer-token"];
const TOKEN_FLAGS = ["ws-token-file", "ws-token-sha256"];
const JWT_FLAGS = ["ws-shared-secret-file", "ws-issuer", "ws-audience", "ws-max-clock-skew-seconds"];
const MIN_SECRET_BYTES = 32;
const DEFAULT_CLOCK_SKEW_SECONDS = 30;

type Flags = ReadonlyMap<string, string>;

/** Undefined when no authentication is asked for. Reads the files that the flags name. */
export function parseAuthentication(flags: Flags): AuthenticationPolicy | undefined {
  const mode = flags.get("ws-auth");
  if (mode === undefined) {
    if ([...TOKEN_FLAGS, ...JWT_FLAGS].some((flag) => flags.has(flag)))
      throw failure(
        "websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`",
      );
    return undefined;
  }
  if (!MODES.includes(mode))
    throw usageError(
      `invalid value '${mode}' for '--ws-auth <MODE>'\n  [possible values: ${MODES.join(", ")}]`,
    );
  return mode === "capability-token" ? parseTokenPolicy(flags) : parseJwtPolicy(flags);
}

function parseTokenPolicy(flags: Flags): AuthenticationPolicy {
  if (JWT_FLAGS.some((flag) => flags.has(flag)))
    throw failure(
      "`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`",
    );
  const file = flags.get("ws-token-file");
  const hex = flags.get("ws-token-sha256");
  if (file !== undefined && hex !== undefined)
    throw failure("`--ws-token-file` and `--ws-token-sha256` are mutually exclusive");
  if (file !== undefined)
    return { mode: "capability-token", tokenSha256: createHash("sha256").update(readSecret(file)).digest() };
  if (hex === undefined)
    throw failure(
      "`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set",
    );
  if (!/^[0-9a-f]{64}$/i.test(hex.trim()))
    throw failure("--ws-token-sha256 must be a 64-character hex SHA-256 digest");
  return { mode: "capability-token", tokenSha256: Buffer.from(hex.trim(), "hex") };
}

function parseJwtPolicy(flags: Flags): AuthenticationPolicy {
  if (TOKEN_FLAGS.some((flag) => flags.has(flag)))
    throw failure(
      "`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`",
    );
  const file = flags.get("ws-shared-secret-file");
  if (file === undefined)
    throw failure("`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set");
  const secret = readSecret(file);
  if (secret.length < MIN_SECRET_BYTES)
    throw failure(`signed websocket bearer secret ${file} must be at least ${MIN_SECRET_BYTES} bytes`);
  const issuer = flags.get("ws-issuer")?.trim();
  const audience = flags.get("ws-audience")?.trim();
  return {
    mode: "signed-bearer-token",
    secret,
    ...(issuer ? { issuer } : {}),
    ...(audience ? { audience } : {}),
    maxClockSkewSeconds: parseSeconds(flags.get("ws-max-clock-skew-seconds")),
  };
}

function parseSeconds(text: string | undefined): number {
  if (text === undefined) return DEFAULT_CLOCK_SKEW_SECONDS;
  if (!/^[0-9]{1,15}$/.test(text))
    throw usageError(
      `invalid value '${text}' for '--ws-max-clock-skew-seconds <SECONDS>': invalid digit found in string`,
    );
  return Number(text);
}

function readSecret(path: string): Buffer {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    const { code, errno } = error as NodeJS.ErrnoException;
    if (code === undefined || errno === undefined) throw error;
    throw failure(`failed to read websocket auth secret ${path}: ${describeErrno(code, Math.abs(errno))}`);
  }
  const secret = Buffer.from(content.toString("utf8").trim());
  if (secret.length === 0) throw failure(`websocket auth secret ${path} must not be empty`);
  return secret;
}
