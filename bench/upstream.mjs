import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { patternBytes } from "./pattern.mjs";
import { readBanner, startProgram } from "./servers.mjs";

/** The body repeats this piece. */
export const PIECE = patternBytes(256 * 1024);

/** Starts the upstream HTTP server in its own process. */
export async function openUpstream() {
  const program = await startProgram(process.execPath, [
    fileURLToPath(new URL("./upstream-server.mjs", import.meta.url)),
  ]);
  try {
    const url = await readBanner(program, (line) => line.startsWith("http://"));
    return { url, stop: program.stop };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

/** SHA-256 of a body of `bytes`, a multiple of the piece. */
export function upstreamHash(bytes) {
  const hash = createHash("sha256");
  for (let at = 0; at < bytes; at += PIECE.length) hash.update(PIECE);
  return hash.digest("hex");
}
