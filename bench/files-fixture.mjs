import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { patternBytes } from "./pattern.mjs";

/** In memory if possible: otherwise the disk would be measured, and ext4 waits for it when a file is overwritten. */
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : "/var/tmp";

/** A directory for files; `uri(name)` is the URI of one. */
export async function openFilesFixture() {
  const directory = await mkdtemp(join(ROOT, "exec-server-bench-files-"));
  return {
    path: (name) => join(directory, name),
    uri: (name) => pathToFileURL(join(directory, name)).href,
    writePattern: (name, bytes) => writeFile(join(directory, name), patternBytes(bytes)),
    writeMany: async (name, count) => {
      await mkdir(join(directory, name));
      for (let i = 0; i < count; i++) await writeFile(join(directory, name, `file-${i}`), "");
    },
    stop: () => rm(directory, { recursive: true, force: true }),
  };
}

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
