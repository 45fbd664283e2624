import { createHash, timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import { messageOf, UsageError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { readTokenFile, type TokenEntry, type TokenFormat } from "./token-file.ts";

/** Interval for rereading the file and checking expiry. */
const READ_MS = 500;
/** A writer that writes in place has this long to write the rest. */
const SETTLE_MS = 100;
/** An empty file is probably one that is being written, perhaps by hand. */
const EMPTY_SETTLE_MS = 5_000;

/** A token's rights; `key` is the same for the same rights. */
interface Keyed {
  readonly key: string;
}

/** One token, for as long as it keeps its rights. */
interface Grant<R> extends Omit<TokenEntry<R>, "sha256"> {
  readonly sha256: Buffer;
  /** Ends all connections with it. */
  readonly end: AbortController;
}

/** A token that was presented, and is good. */
export interface PresentedToken<R> {
  readonly name: string;
  readonly rights: R;
  readonly expiresAtMs?: number;
  readonly withdrawn: AbortSignal;
}

/** The named tokens of a file, which is read again when it changes. A broken file changes nothing. */
export class TokenTable<R extends Keyed> {
  readonly #path: string;
  readonly #format: TokenFormat<R>;
  readonly #logger: Logger;
  #text: string;
  #grants: readonly Grant<R>[];
  #fault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(path: string, format: TokenFormat<R>, logger: Logger, { text, entries }: TokenFile<R>) {
    this.#path = path;
    this.#format = format;
    this.#logger = logger;
    this.#text = text;
    this.#grants = grantsOf(entries, []);
    this.#later();
  }

  /** Throws a UsageError if the file cannot be read, has no token, or contains anything unknown. */
  static async open<R extends Keyed>(
    path: string,
    format: TokenFormat<R>,
    logger: Logger,
  ): Promise<TokenTable<R>> {
    const file = await readTokenFile(path, format);
    // Later it means that every token is withdrawn.
    if (file.entries.length === 0) throw new UsageError(`${path}:1: there is no [[token]]`);
    return new TokenTable(path, format, logger, file);
  }

  /** Compares with every token, whichever matches, so that the time it takes reveals nothing. */
  check(
    token: string,
  ): { readonly refusal: "invalid" | "expired" } | { readonly credential: PresentedToken<R> } {
    const presented = createHash("sha256").update(token).digest();
    let match: Grant<R> | undefined;
    for (const grant of this.#grants) if (timingSafeEqual(presented, grant.sha256)) match = grant;
    if (match === undefined) return { refusal: "invalid" };
    const { name, rights, expiresAtMs, end } = match;
    if (end.signal.aborted || (expiresAtMs !== undefined && expiresAtMs <= Date.now()))
      return { refusal: "expired" };
    const expiry = expiresAtMs === undefined ? {} : { expiresAtMs };
    return { credential: { name, rights, withdrawn: end.signal, ...expiry } };
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #later(): void {
    if (!this.#closed) this.#timer = setTimeout(() => void this.#readAgain(), READ_MS).unref();
  }

  async #readAgain(): Promise<void> {
    try {
      let read = await readTokenFile(this.#path, this.#format, this.#text);
      while (read.text !== this.#text && !this.#closed) {
        const settleMs = read.text.trim() === "" ? EMPTY_SETTLE_MS : SETTLE_MS;
        await new Promise((resolve) => void setTimeout(resolve, settleMs).unref());
        const again = await readTokenFile(this.#path, this.#format, this.#text);
        if (again.text === read.text) this.#replace(again);
        read = again;
      }
      this.#fault = undefined;
    } catch (error) {
      const reason = messageOf(error);
      // Logged once, not each time the file is read.
      if (this.#fault !== reason)
        this.#logger.error("the new token table is invalid; the previous one stays in force", {
          reason,
        });
      this.#fault = reason;
    }
    this.#later();
  }

  #replace({ text, entries }: TokenFile<R>): void {
    const before = this.#grants;
    this.#text = text;
    this.#grants = grantsOf(entries, before);
    const kept = new Set(this.#grants.map(({ end }) => end));
    for (const { end } of before) if (!kept.has(end)) end.abort();
    const logger = this.#logger;
    if (entries.length > 0) logger.info("the token table was reloaded", { tokens: entries.length });
    else logger.warn("the token table is empty: no client is admitted");
  }
}

type TokenFile<R> = Awaited<ReturnType<typeof readTokenFile<R>>>;

/** A token with the same name, hash, expiry and rights is still the same. */
function grantsOf<R extends Keyed>(
  entries: readonly TokenEntry<R>[],
  before: readonly Grant<R>[],
): Grant<R>[] {
  return entries.flatMap(({ name, sha256, rights, expiresAtMs }) =>
    sha256.map((hash): Grant<R> => {
      const same = before.find(
        (grant) =>
          grant.name === name &&
          grant.sha256.equals(hash) &&
          grant.expiresAtMs === expiresAtMs &&
          grant.rights.key === rights.key,
      );
      if (same !== undefined) return same;
      const end = new AbortController();
      setMaxListeners(0, end.signal);
      return { name, sha256: hash, rights, expiresAtMs, end };
    }),
  );
}
