import { lstatSync } from "node:fs";
import { type NotificationParams, notifications } from "../../../protocol/index.ts";
import type { ServerLimits } from "../../settings/limits.ts";

/** Settings that a helper needs before its first call. */
export interface HelperSettings {
  /**
   * The roots of the client or of the server, if there are any; those that the sandbox hides are out of reach anyway.
   */
  readonly fsRoots: readonly string[] | undefined;
  /** Paths whose identity the helper reports. */
  readonly mounts: readonly string[];
  readonly codexHome: string | undefined;
  readonly userDirectory: string;
  readonly limits: Pick<ServerLimits, "maxBufferedBytes" | "maxBufferedBytesPerConnection">;
}

export interface HelperReady {
  /** The identity of each path as the helper sees it. */
  readonly mounts: readonly (string | null)[];
}

export interface HelperCall {
  readonly method: string;
  readonly params: unknown;
  /** Whether bytes follow, the contents that the parameters leave out. */
  readonly attached: boolean;
}

/** A helper's notification. */
export type HelperNotification = {
  [N in (typeof NOTIFICATIONS)[number]]: { readonly method: N; readonly params: NotificationParams<N> };
}[(typeof NOTIFICATIONS)[number]];

const NOTIFICATIONS = ["fs/watch/changed", "fs/missingChanged"] as const;

/** Throws for anything else. */
export function checkNotification(notification: unknown): HelperNotification {
  const { method, params } = (notification ?? {}) as Record<string, unknown>;
  const known = NOTIFICATIONS.find((name) => name === method);
  if (known === undefined || !notifications[known].params.safeParse(params).success)
    throw new Error("it sent an unknown notification");
  // The parameters were checked against the schema of the method.
  return { method: known, params } as HelperNotification;
}

/** A path's target: device and inode. Null if it does not exist or cannot be reached. */
export function identityOf(path: string): string | null {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
