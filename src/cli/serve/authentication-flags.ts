import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { type AuthenticationPolicy, MIN_SECRET_BYTES } from "../../server/access/authentication.ts";
import { describeFileError, Failure, usageFailure } from "../shared/failure.ts";
import { readSmallFile } from "../shared/read-small-file.ts";
import type { Flags } from "./flags.ts";

/** Authentication flags with the placeholders of their values. */
export const AUTHENTICATION_FLAGS = {
  "ws-auth": "MODE",
  "ws-token-file": "PATH",
  "ws-token-sha256": "HEX",
  "ws-shared-secret-file": "PATH",
  "ws-issuer": "ISSUER",
  "ws-audience": "AUDIENCE",
  "ws-max-clock-skew-seconds": "SECONDS",
  "ws-token-table": "PATH",
};

/** Flags that name files. */
export const AUTHENTICATION_FILES = ["ws-token-file", "ws-shared-secret-file", "ws-token-table"];

const MODES = ["capability-token", "signed-bearer-token", "token-table"];
const TOKEN_FLAGS = ["ws-token-file", "ws-token-sha256"];
const JWT_FLAGS = ["ws-shared-secret-file", "ws-issuer", "ws-audience", "ws-max-clock-skew-seconds"];
const TABLE_FLAG = "ws-token-table";
const DEFAULT_CLOCK_SKEW_SECONDS = 30n;
const MAX_I64 = 2n ** 63n - 1n;
const MAX_U64 = 2n ** 64n - 1n;

/** Reads the files that the flags name. */
export type LoadAuthentication = () => AuthenticationPolicy;

/** Validates the flags; the returned function reads the files later. Undefined if no authentication is requested. */
export function parseAuthentication(flags: Flags): LoadAuthentication | undefined {
  const mode = flags.get("ws-auth");
  if (mode === undefined) {
    if (flags.has(TABLE_FLAG)) throw new Failure("`--ws-token-table` requires `--ws-auth token-table`");
    if ([...TOKEN_FLAGS, ...JWT_FLAGS].some((flag) => flags.has(flag)))
      throw new Failure(
        "websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`",
      );
    return undefined;
  }
  if (!MODES.includes(mode))
    throw usageFailure(
      `invalid value '${mode}' for '--ws-auth <MODE>'\n  [possible values: ${MODES.join(", ")}]`,
    );
  if (mode === "token-table") return parseTablePolicy(flags);
  if (flags.has(TABLE_FLAG))
    throw new Failure(`\`--ws-token-table\` requires \`--ws-auth token-table\`, not \`${mode}\``);
  return mode === "capability-token" ? parseTokenPolicy(flags) : parseJwtPolicy(flags);
}

function parseTablePolicy(flags: Flags): LoadAuthentication {
  const other = [...TOKEN_FLAGS, ...JWT_FLAGS].find((flag) => flags.has(flag));
  if (other !== undefined) throw new Failure(`\`--${other}\` cannot be used with \`--ws-auth token-table\``);
  const path = flags.get(TABLE_FLAG);
  if (path === undefined)
    throw new Failure("`--ws-token-table` is required when `--ws-auth token-table` is set");
  return () => ({ mode: "token-table", path: resolveHome(path) });
}

function parseTokenPolicy(flags: Flags): LoadAuthentication {
  if (JWT_FLAGS.some((flag) => flags.has(flag)))
    throw new Failure(
      "`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`",
    );
  const file = flags.get("ws-token-file");
  const hex = flags.get("ws-token-sha256")?.trim();
  if (file !== undefined && hex !== undefined)
    throw new Failure("`--ws-token-file` and `--ws-token-sha256` are mutually exclusive");
  if (file !== undefined)
    return () => ({
      mode: "capability-token",
      tokenSha256: createHash("sha256")
        .update(readSecret(resolveHome(file)))
        .digest(),
    });
  if (hex === undefined)
    throw new Failure(
      "`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set",
    );
  if (!/^[0-9a-f]{64}$/i.test(hex))
    throw new Failure("--ws-token-sha256 must be a 64-character hex SHA-256 digest");
  return () => ({ mode: "capability-token", tokenSha256: Buffer.from(hex, "hex") });
}

function parseJwtPolicy(flags: Flags): LoadAuthentication {
  const maxClockSkewSeconds = parseSeconds(flags);
  if (TOKEN_FLAGS.some((flag) => flags.has(flag)))
    throw new Failure(
      "`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`",
    );
  const file = flags.get("ws-shared-secret-file");
  if (file === undefined)
    throw new Failure("`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set");
  if (maxClockSkewSeconds > MAX_I64)
    throw new Failure("websocket auth clock skew must fit in a signed 64-bit integer");
  const issuer = flags.get("ws-issuer")?.trim();
  const audience = flags.get("ws-audience")?.trim();
  return () => ({
    mode: "signed-bearer-token",
    secret: readSigningSecret(resolveHome(file)),
    ...(issuer ? { issuer } : {}),
    ...(audience ? { audience } : {}),
    maxClockSkewSeconds: Number(maxClockSkewSeconds),
  });
}

function parseSeconds(flags: Flags): bigint {
  const name = "ws-max-clock-skew-seconds";
  const text = flags.get(name);
  if (text === undefined) return DEFAULT_CLOCK_SKEW_SECONDS;
  if (!/^[0-9]+$/.test(text)) throw flags.invalid(name, "invalid digit found in string");
  if (BigInt(text) > MAX_U64) throw flags.invalid(name, "number too large to fit in target type");
  return BigInt(text);
}

/** Shells expand `~` only at the start of a word, not after an equals sign. */
export function resolveHome(path: string): string {
  const home = process.env["HOME"];
  return home !== undefined && /^~(?:\/|$)/.test(path) ? resolve(home, path.slice(2)) : resolve(path);
}

function readSigningSecret(path: string): Buffer {
  const secret = readSecret(path);
  if (secret.length < MIN_SECRET_BYTES)
    throw new Failure(`signed websocket bearer secret ${path} must be at least ${MIN_SECRET_BYTES} bytes`);
  return secret;
}

function readSecret(path: string): Buffer {
  let content: Buffer;
  try {
    content = readSmallFile(path);
  } catch (error) {
    throw new Failure(`failed to read websocket auth secret ${path}: ${describeFileError(error)}`);
  }
  if (!isUtf8(content))
    throw new Failure(`failed to read websocket auth secret ${path}: stream did not contain valid UTF-8`);
  const secret = Buffer.from(content.toString("utf8").trim());
  if (secret.length === 0) throw new Failure(`websocket auth secret ${path} must not be empty`);
  return secret;
}
