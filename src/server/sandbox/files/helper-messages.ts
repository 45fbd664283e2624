import { lstatSync } from "node:fs";
import type { ServerLimits } from "../../limits.ts";

/** What a helper is told before its first call. */
export interface HelperSettings {
  /** The roots of the client or of the server, if there are any; those that the sandbox hides are out of reach anyway. */
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
  /** Whether bytes follow, which are the contents that the parameters leave out. */
  readonly attached: boolean;
}

export interface HelperNotification {
  readonly method: string;
  readonly params: unknown;
}

/** What a path leads to: device and inode. Null if there is nothing, or it cannot be reached. */
export function identityOf(path: string): string | null {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
