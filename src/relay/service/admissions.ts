import { createHash, randomBytes } from "node:crypto";
import { LIMITS } from "./limits.ts";

/** A client that may open one stream: with an address that works once, and what proves to the executor that it may. */
export interface Admission {
  /** Distinguishes the clients of a relay in its log. */
  readonly client: number;
  /** Name of the token that it has shown. */
  readonly token: string;
  /** Fingerprint of its key. */
  readonly key: string;
  readonly admittedAt: number;
}

export interface ClientSecrets {
  /** Part of the address. */
  readonly secret: string;
  readonly authorization: string;
}

/** The clients that one executor has to expect. Secrets are found by their hashes, so that no timing reveals them. */
export class Admissions {
  readonly #unused = new Map<string, Admission>();
  readonly #authorizations = new Map<string, Admission>();

  /** Those that have not used their addresses. */
  get unused(): Iterable<Admission> {
    return this.#unused.values();
  }

  add(admission: Admission): ClientSecrets {
    const [secret, authorization] = [newSecret(), newSecret()];
    this.#unused.set(hashOf(secret), admission);
    this.#authorizations.set(hashOf(authorization), admission);
    return { secret, authorization };
  }

  /** Uses up an address; undefined if it is not valid. */
  use(secret: string, now: number): Admission | undefined {
    this.expire(now);
    const hash = hashOf(secret);
    const admission = this.#unused.get(hash);
    this.#unused.delete(hash);
    return admission;
  }

  /** Whom an authorization was made for; undefined if it is not valid. It is used up. */
  authorize(authorization: string, now: number): Admission | undefined {
    const hash = hashOf(authorization);
    const admission = this.#authorizations.get(hash);
    this.#authorizations.delete(hash);
    return admission !== undefined && now < admission.admittedAt + LIMITS.authorizationMs
      ? admission
      : undefined;
  }

  /** The client is gone, or may no longer come. */
  remove(isGone: (admission: Admission) => boolean): void {
    for (const map of [this.#unused, this.#authorizations])
      for (const [hash, admission] of map) if (isGone(admission)) map.delete(hash);
  }

  expire(now: number): void {
    for (const [hash, admission] of this.#unused) {
      if (now < admission.admittedAt + LIMITS.clientUrlMs) return;
      this.#unused.delete(hash);
      this.remove((each) => each === admission);
    }
  }
}

export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64");
}
