/** An environment, as a relay of this project lists it for those who may know of it. */
export interface EnvironmentStatus {
  readonly environmentId: string;
  readonly isOnline: boolean;
  readonly streams: number;
  /** Name of the token that has registered it. */
  readonly token: string;
  /** Fingerprint of its executor's key. */
  readonly key: string;
}

/** Whether a relay has listed what it should: it need not be trusted. */
export function isEnvironmentStatus(value: unknown): value is EnvironmentStatus {
  if (typeof value !== "object" || value === null) return false;
  const { environmentId, isOnline, streams, token, key } = value as Readonly<Record<string, unknown>>;
  return (
    typeof isOnline === "boolean" &&
    typeof streams === "number" &&
    [environmentId, token, key].every((text) => typeof text === "string")
  );
}
