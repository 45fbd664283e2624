import { createHash, timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import { messageOf, UsageError } from "../../base/errors.ts";
import type { Credential } from "./credential.ts";
import { principalNamed, type Rights, type RightsContext } from "./rights.ts";
import { readTokenFile, type TokenEntry } from "./token-file.ts";

/** How often the file is read, and expiry looked at. */
const READ_MS = 500;
/** Whoever writes in place has this long to write the rest. */
const SETTLE_MS = 100;
/** An empty file is probably one that is being written, perhaps by hand. */
const EMPTY_SETTLE_MS = 5_000;

/** One token, as long as it keeps its rights. */
interface Grant {
  readonly name: string;
  readonly sha256: Buffer;
  readonly rights: Rights;
  readonly expiresAtMs: number | undefined;
  /** Ends all connections with it. */
  readonly end: AbortController;
}

/** The named tokens of a file, which is read again when it changes. A broken file changes nothing. */
export class TokenTable {
  readonly #path: string;
  readonly #context: RightsContext;
  #text: string;
  #grants: readonly Grant[];
  #fault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(path: string, context: RightsContext, { text, entries }: TokenFile) {
    this.#path = path;
    this.#context = context;
    this.#text = text;
    this.#grants = grantsOf(entries, []);
    this.#later();
  }

  /** Throws a UsageError for a file that cannot be read, has no token, or anything in it that is not known. */
  static async open(path: string, context: RightsContext): Promise<TokenTable> {
    const file = await readTokenFile(path, context);
    // Later it means that every token is withdrawn.
    if (file.entries.length === 0) throw new UsageError(`${path}:1: there is no [[token]]`);
    return new TokenTable(path, context, file);
  }

  /** Compares with every token, whichever fits, so that the time tells nothing. */
  check(token: string): { readonly refusal: string } | { readonly credential: Credential } {
    const presented = createHash("sha256").update(token).digest();
    let found: Grant | undefined;
    for (const grant of this.#grants) if (timingSafeEqual(presented, grant.sha256)) found = grant;
    if (found === undefined) return { refusal: "invalid websocket bearer token" };
    const { name, rights, expiresAtMs, end } = found;
    if (end.signal.aborted || isOver(found)) return { refusal: "expired websocket bearer token" };
    return {
      credential: {
        principal: principalNamed(name),
        name,
        rights,
        withdrawn: end.signal,
        ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
      },
    };
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
      let read = await readTokenFile(this.#path, this.#context, this.#text);
      while (read.text !== this.#text && !this.#closed) {
        const settleMs = read.text.trim() === "" ? EMPTY_SETTLE_MS : SETTLE_MS;
        await new Promise((resolve) => void setTimeout(resolve, settleMs).unref());
        const again = await readTokenFile(this.#path, this.#context, this.#text);
        if (again.text === read.text) this.#replace(again);
        read = again;
      }
      this.#fault = undefined;
    } catch (error) {
      const reason = messageOf(error);
      // Logged once, not each time the file is read.
      if (this.#fault !== reason)
        this.#context.logger.error("the token table is invalid; the one before stays in force", {
          reason,
        });
      this.#fault = reason;
    }
    this.#later();
  }

  #replace({ text, entries }: TokenFile): void {
    const before = this.#grants;
    this.#text = text;
    this.#grants = grantsOf(entries, before);
    const kept = new Set(this.#grants.map(({ end }) => end));
    for (const { end } of before) if (!kept.has(end)) end.abort();
    const { logger } = this.#context;
    if (entries.length > 0) logger.info("the token table was read again", { tokens: entries.length });
    else logger.warn("the token table is empty: no client is admitted");
  }
}

type TokenFile = Awaited<ReturnType<typeof readTokenFile>>;

function isOver({ expiresAtMs }: Grant): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= Date.now();
}

/** A token with the same name, hash, expiry and rights is still the same. */
function grantsOf(entries: readonly TokenEntry[], before: readonly Grant[]): Grant[] {
  return entries.flatMap(({ name, sha256, rights, expiresAtMs }) =>
    sha256.map((hash): Grant => {
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
