import { fingerprint, type PublicKey } from "../../noise/keys.ts";
import { Environment } from "./environment.ts";
import { isWithinShare } from "./fair-share.ts";
import { LIMITS } from "./limits.ts";
import { Refusal } from "./refusal.ts";
import type { RecordEvent } from "./relay-event.ts";

/** Everything that is registered with a relay. */
export class Environments implements Iterable<Environment> {
  readonly #record: RecordEvent;
  /** By their ids, those that have registered first at the beginning. */
  readonly #byId = new Map<string, Environment>();
  readonly #byRegistration = new Map<string, Environment>();

  constructor(record: RecordEvent) {
    this.#record = record;
  }

  [Symbol.iterator](): Iterator<Environment> {
    return this.#byId.values();
  }

  get(id: string): Environment | undefined {
    return this.#byId.get(id);
  }

  registered(registrationId: string): Environment | undefined {
    return this.#byRegistration.get(registrationId);
  }

  /**
   * The registration of an executor: what it has already, or a new one, which ends that of another key. Throws a Refusal
   * for a key that was superseded, or two executors would take turns for ever.
   */
  register(id: string, token: string, key: PublicKey, now: number): Environment {
    const keyFingerprint = fingerprint(key);
    const known = this.#byId.get(id);
    if (known?.fingerprint === keyFingerprint && known.token === token) return known;
    if (known?.isHeld(now) && known.supersededKeys.includes(keyFingerprint))
      throw new Refusal(409, "registration_conflict", `another executor has registered ${id}`);
    const supersededKeys = known === undefined ? [] : supersededBy(keyFingerprint, known);
    if (known !== undefined) {
      if (known.fingerprint !== keyFingerprint)
        this.#record("supersede", {
          environment: id,
          token: known.token,
          key: known.fingerprint,
          by: keyFingerprint,
        });
      this.remove(known, "another executor has registered this environment");
    }
    this.#makeRoom();
    const environment = new Environment({ id, token, key, supersededKeys, now, record: this.#record });
    this.#byId.set(id, environment);
    this.#byRegistration.set(environment.registrationId, environment);
    this.#record("register", { environment: id, token, key: keyFingerprint });
    return environment;
  }

  /** Whether one more executor of this token may connect. */
  hasRoomFor(token: string): boolean {
    let [own, online] = [0, 0];
    for (const environment of this) {
      if (!environment.isOnline) continue;
      online += 1;
      if (environment.token === token) own += 1;
    }
    return isWithinShare(own, online, LIMITS.maxExecutors);
  }

  /** Ends what a token has registered and opened: it is revoked, expired, renamed, or may do less. */
  revoke(token: string): void {
    for (const environment of this)
      if (environment.token === token) this.remove(environment, "its token is no longer valid");
      else environment.revokeClients(token);
  }

  remove(environment: Environment, reason: string): void {
    if (this.#byId.get(environment.id) === environment) this.#byId.delete(environment.id);
    this.#byRegistration.delete(environment.registrationId);
    environment.end(reason);
  }

  /** An executor that is not connected registers again when it is. */
  #makeRoom(): void {
    if (this.#byId.size < LIMITS.maxEnvironments) return;
    for (const environment of this)
      if (!environment.isOnline) {
        this.remove(environment, "newer executors needed its room");
        return;
      }
  }
}

/** The keys that may not come back while this one is there. */
function supersededBy(key: string, { fingerprint: earlier, supersededKeys }: Environment): string[] {
  return [...supersededKeys, earlier].filter((each) => each !== key).slice(-LIMITS.maxSupersededKeys);
}
