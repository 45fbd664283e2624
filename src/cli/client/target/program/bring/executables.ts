import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { findBundle } from "../../../../../server/wire/own-bundle.ts";
import { Failure } from "../../../../shared/failure.ts";

const SUMS = "SHA256SUMS";
const SUM_LINE = /^([0-9a-f]{64}) {2}exec-server-linux-(x64|arm64)$/;
/** `uname -m` of the architectures. */
export const MACHINES: ReadonlyMap<string, string> = new Map([
  ["x86_64", "x64"],
  ["aarch64", "arm64"],
]);
const HASH_LENGTH = 16;
/** Slower levels save a tenth. */
const COMPRESSION = { level: 3 };

/** A single executable that needs nothing on the other machine. */
export interface Executable {
  /** Of its directory on the other machine. */
  readonly name: string;
  readonly path: string;
  readonly sha256: string;
}

/** The single executables of this installation, by what `uname -m` says. `npm run build:binary` makes them. */
export function ownExecutables(version: string): ReadonlyMap<string, Executable> {
  const description = findBundle("bundle.json");
  const directory = process.env["EXEC_SERVER_BINARIES"] || join(dirname(description ?? ""), "..", "binaries");
  const found = new Map<string, Executable>();
  for (const line of readSums(join(directory, SUMS))) {
    const [, sha256 = "", arch] = SUM_LINE.exec(line) ?? [];
    const machine = [...MACHINES].find(([, value]) => value === arch)?.[0];
    if (machine === undefined) continue;
    const path = join(directory, `exec-server-linux-${arch}`);
    found.set(machine, { name: `${version}-${sha256.slice(0, HASH_LENGTH)}`, path, sha256 });
  }
  return found;
}

function readSums(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    return [];
  }
}

/** Its contents as they are sent. Throws a Failure if they are not what the sums say. */
export async function packExecutable(
  { path, sha256 }: Executable,
  compress: boolean,
): Promise<{ readonly bytes: Buffer; readonly length: number }> {
  const content = await readFile(path).catch((error: Error) => {
    throw new Failure(`cannot bring ${path}: ${error.message}`);
  });
  if (createHash("sha256").update(content).digest("hex") !== sha256)
    throw new Failure(`cannot bring ${path}: it is not what ${SUMS} beside it says`);
  const bytes = compress ? await promisify(gzip)(content, COMPRESSION) : content;
  return { bytes, length: content.length };
}
