import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** A browser that has not been here for so long has to sign in again. */
export const SECRET_LIFETIME_MS = 7 * 24 * 60 * 60_000;
const PREFIX = "esc1_";
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Tokens are refused long before, because headers have a limit. */
const MAX_SECRET_CHARACTERS = 16 * 1024;

/** The holder of a secret: the bearer of a token, or without authentication the user of a link. */
export interface Holder {
  readonly bearer: string | undefined;
}

interface Content {
  /** When it ends, in milliseconds since 1970. */
  readonly e: number;
  /** The token. */
  readonly t?: string;
}

/**
 * What a browser presents instead of a link or a token. It contains the sealed token, which is checked each time as if
 * it were presented itself: so a secret ends with its token, and the key alone gives no rights. The server stores
 * nothing.
 */
export class SessionSecrets {
  readonly #key: () => Buffer;
  /** Address of the listener: other servers with the same key do not take the secret. */
  readonly #audience: () => string;
  readonly #now: () => number;

  constructor(key: () => Buffer, audience: () => string, now: () => number = Date.now) {
    this.#key = key;
    this.#audience = audience;
    this.#now = now;
  }

  seal({ bearer }: Holder): string {
    const content: Content = {
      e: this.#now() + SECRET_LIFETIME_MS,
      ...(bearer === undefined ? {} : { t: bearer }),
    };
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key(), iv).setAAD(this.#boundTo());
    const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(content), "utf8"), cipher.final()]);
    return PREFIX + Buffer.concat([sealed, cipher.getAuthTag()]).toString("base64url");
  }

  /** Undefined for a secret that was not sealed here, was altered, or has expired. */
  open(secret: string): Holder | undefined {
    if (!isSecret(secret) || secret.length > MAX_SECRET_CHARACTERS) return undefined;
    const encoded = secret.slice(PREFIX.length);
    const bytes = Buffer.from(encoded, "base64url");
    // Each secret has one spelling.
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString("base64url") !== encoded) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key(), bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(this.#boundTo())
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    let text: string;
    try {
      text =
        decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    } catch {
      return undefined;
    }
    const { e, t } = JSON.parse(text) as Content;
    return e > this.#now() ? { bearer: t } : undefined;
  }

  #boundTo(): Buffer {
    return Buffer.from(`exec-server console\n${this.#audience()}`);
  }
}

/** Whether a text looks like a secret. Other text gets no further explanation. */
export function isSecret(text: string): boolean {
  return text.startsWith(PREFIX);
}
