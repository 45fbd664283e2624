import type { FileChanges, Files } from "../../client/browser.ts";

export interface DirectoryFollower {
  /** The directory is watched, or cannot be: look at it now, and no change is missed. */
  readonly start: (isWatched: boolean) => Promise<void>;
  readonly change: (changes: FileChanges) => Promise<void>;
}

/** Reports what changes in a directory, until the signal, the end of the session, or the end of the directory. */
export async function followDirectory(
  files: Files,
  path: string,
  signal: AbortSignal,
  { start, change }: DirectoryFollower,
): Promise<void> {
  const watch = await files.watch(path, { signal }).catch(() => undefined);
  await start(watch !== undefined);
  if (watch === undefined) return;
  try {
    for await (const changes of watch) await change(changes);
    // The directory is gone.
    await change({ paths: [], overflow: true });
  } catch {
    // Closed here, or the session is over.
  }
}
