import { spawn } from "node:child_process";
import { createHash } from "node:crypto";

/** The hash of a command's output, run here without a server in between. */
export async function hashOutput(
  command: string,
  args: readonly string[],
): Promise<{ sha256: string; bytes: number }> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of child.stdout) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest("hex"), bytes };
}
