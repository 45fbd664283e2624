import type { SecretProvider } from "./secret-provider.ts";

/** A secret, whose value may change while processes have a stand-in for it. */
export interface SecretValue {
  /** The newest first. Answers may still contain the others. */
  readonly values: readonly string[];
  /** What goes into requests; undefined while the secret cannot be read. */
  readonly current: string | undefined;
  /** Reads it again if that is due. Undefined if it is not. Never rejects. */
  refresh(): Promise<void> | undefined;
}

/** A secret that the server holds, and a process uses. */
export interface HeldSecret {
  readonly value: SecretValue;
  /** `env` has one name, of the variable that gets the stand-in. */
  readonly provider: SecretProvider;
}

/** A value that stays as it is. */
export function constantSecret(secret: string): SecretValue {
  return { values: [secret], current: secret, refresh: () => undefined };
}
