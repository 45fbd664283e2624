import { createHash, randomBytes } from "node:crypto";
import { isEnvironmentId } from "../../../relay/environment-id.ts";
import { readOwnFile } from "../../../server/access/read-own-file.ts";
import { parseTokens } from "../../../server/access/token-file.ts";
import { usageFailure } from "../../shared/failure.ts";
import { parseDuration } from "../../shared/parse-duration.ts";
import { replaceFile } from "../../shared/replace-file.ts";
import { print } from "../../shared/standard-streams.ts";
import { type Flags, parseFlags } from "../flags.ts";
import { entryLines, withEntry } from "./credential-entries.ts";
import { relayFormat } from "./relay-tokens.ts";

const FLAGS = { tokens: "PATH", "environment-id": "ID", expires: "DURATION" };
const MIN_VALID_MS = 1_000;
/** A hundred years: dates in TOML end with the year 9999. */
const MAX_VALID_DAYS = 36_500;
const DAY_MS = 86_400_000;

/** Adds a token with which one executor can register, and prints what `--executor-credential-stdin` reads. */
export async function makeCredential(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, { values: FLAGS });
  const path = flags.get("tokens");
  const environmentId = flags.get("environment-id")?.trim();
  if (path === undefined || !environmentId)
    throw usageFailure("'--tokens <PATH>' and '--environment-id <ID>' are required");
  if (!isEnvironmentId(environmentId))
    throw flags.invalid("environment-id", "expected 1 to 256 visible characters, without blanks and '*'");
  const now = Date.now();
  const expiresAt = new Date(Math.floor((now + readValidity(flags)) / 1000) * 1000);
  const token = randomBytes(32).toString("base64url");
  const sha256 = createHash("sha256").update(token).digest("hex");
  const lines = entryLines({ sha256, expiresAt, environmentId });
  await replaceFile(
    path,
    async (target) => {
      const text = withEntry(readTable(target), lines, now);
      await parseTokens(path, text, relayFormat);
      return text;
    },
    { keepAccess: true },
  );
  const frame = { version: 1, environment_id: environmentId, token, expires_at: expiresAt.getTime() / 1000 };
  await print(`${JSON.stringify(frame)}\n`);
}

function readValidity(flags: Flags): number {
  const validMs = parseDuration(flags.get("expires") ?? "1h");
  if (validMs !== undefined && validMs >= MIN_VALID_MS && validMs <= MAX_VALID_DAYS * DAY_MS) return validMs;
  throw flags.invalid("expires", `expected a time such as 30m, 1h or 2d, at most ${MAX_VALID_DAYS}d`);
}

/** Empty if there is no file yet. */
function readTable(path: string): string {
  try {
    return readOwnFile(path, "the token table");
  } catch (error) {
    if (/no such file/i.test((error as Error).message)) return "";
    throw error;
  }
}
