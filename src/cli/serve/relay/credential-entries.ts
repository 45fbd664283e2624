import { randomBytes } from "node:crypto";

/** Lines of an entry exactly as `relay credential` writes them: others in the table belong to somebody. */
const ENTRY: readonly RegExp[] = [
  /^\[\[token\]\]$/,
  /^name = "executor-[0-9a-f]{12}"$/,
  /^sha256 = "[0-9a-f]{64}"$/,
  /^expires = \S{20}$/,
  /^may = \["register"\]$/,
  /^environments = \[".*"\]$/,
];
const EXPIRES = "expires = ";

/** What an executor's credential may be used for. */
export interface CredentialEntry {
  readonly sha256: string;
  /** A whole second. */
  readonly expiresAt: Date;
  readonly environmentId: string;
}

/** The lines of a credential in a relay's token table. */
export function entryLines({ sha256, expiresAt, environmentId }: CredentialEntry): string {
  return [
    "[[token]]",
    `name = ${JSON.stringify(`executor-${randomBytes(6).toString("hex")}`)}`,
    `sha256 = ${JSON.stringify(sha256)}`,
    `expires = ${expiresAt.toISOString().slice(0, 19)}Z`,
    'may = ["register"]',
    `environments = [${JSON.stringify(environmentId)}]`,
    "",
  ].join("\n");
}

/** A table with another entry at its end, and without credentials that have expired: it would fill up. */
export function withEntry(table: string, lines: string, now: number): string {
  const all = table.split("\n");
  const kept: string[] = [];
  for (let at = 0; at < all.length; ) {
    if (isExpired(all.slice(at, at + ENTRY.length), now)) {
      at += ENTRY.length;
      if (all[at] === "") at += 1;
    } else {
      kept.push(all[at]!);
      at += 1;
    }
  }
  const text = kept.join("\n");
  return text.trim() === "" ? lines : `${text.trimEnd()}\n\n${lines}`;
}

function isExpired(entry: readonly string[], now: number): boolean {
  if (!ENTRY.every((pattern, index) => pattern.test(entry[index] ?? ""))) return false;
  const expires = entry.find((line) => line.startsWith(EXPIRES)) ?? "";
  return Date.parse(expires.slice(EXPIRES.length)) <= now;
}
