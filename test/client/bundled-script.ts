import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export interface BundledScript extends AsyncDisposable {
  readonly path: string;
}

/** Makes one of this folder's scripts a file that plain Node runs, without a test runner around it. */
export async function bundleScript(name: string): Promise<BundledScript> {
  const directory = await mkdtemp(join(tmpdir(), "exec-server-bundle-"));
  const path = join(directory, "script.cjs");
  await build({
    entryPoints: [fileURLToPath(new URL(name, import.meta.url))],
    outfile: path,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    logLevel: "silent",
  });
  return { path, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}
