import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { findBundle, requireBundle } from "../../../../../server/wire/own-bundle.ts";
import { Failure } from "../../../../shared/failure.ts";

/** Characters of the hash in a directory's name. */
const HASH_LENGTH = 16;
const KILOBYTES = 16_384;
const FFI_LIBRARY = "koffi";

/** In dist; made by the build. */
const DESCRIPTION = "bundle.json";

interface Description {
  readonly version: string;
  readonly hash: string;
  /** Relative to dist. */
  readonly files: readonly string[];
  /** Relative to the package of the FFI library. */
  readonly ffiFiles: readonly string[];
}

interface Payload {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** A server as a few files that Node runs. */
export interface Bundle {
  readonly version: string;
  /** Of its directory on the other machine: the same bundle has the same name. */
  readonly name: string;
  readonly arch: string;
  readonly files: readonly string[];
  /** Space that it takes up there, with the compiled code that it keeps beside it. */
  readonly kilobytes: number;
  /** Compressed. Made when it is needed. */
  readonly payload: () => Payload;
  /** Program for Node on the other machine, which receives the payload. */
  readonly receiver: () => string;
}

/** False for a server that was itself brought: it has only what it needs. */
export function hasBundle(): boolean {
  return findBundle(DESCRIPTION) !== undefined;
}

/** The bundle of this installation, for machines of the same architecture. */
export function ownBundle(): Bundle {
  const description = requireBundle(DESCRIPTION, "cannot bring exec-server to another machine");
  const dist = dirname(description);
  const { version, hash, files, ffiFiles } = JSON.parse(readFileSync(description, "utf8")) as Description;
  const { arch } = process;
  const binaries = `@koromix/koffi-linux-${arch}`;
  const ffi = [
    ...ffiFiles.map((name) => ({ package: FFI_LIBRARY, name })),
    // For glibc and for musl.
    ...["package.json", "index.js", `linux_${arch}/koffi.node`, `musl_${arch}/koffi.node`].map((name) => ({
      package: binaries,
      name,
    })),
  ].map(({ package: from, name }) => ({ from, name, to: `node_modules/${from}/${name}` }));
  let payload: Payload | undefined;
  return {
    version,
    kilobytes: KILOBYTES,
    name: `${version}-${createHash("sha256").update(hash).update(arch).digest("hex").slice(0, HASH_LENGTH)}`,
    arch,
    files: [...files, ...ffi.map(({ to }) => to)],
    payload: () => {
      if (payload !== undefined) return payload;
      const directories = ffiDirectories(description, binaries);
      const bytes = pack([
        ...files.map((name) => [name, readFileSync(join(dist, name))] as const),
        ...ffi.map(({ from, name, to }) => [to, readFileSync(join(directories[from]!, name))] as const),
      ]);
      payload = { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
      return payload;
    },
    receiver: () => readFileSync(join(dist, "receive.js"), "latin1"),
  };
}

function ffiDirectories(description: string, binaries: string): Readonly<Record<string, string>> {
  try {
    const main = createRequire(description).resolve(FFI_LIBRARY);
    return {
      [FFI_LIBRARY]: dirname(main),
      [binaries]: dirname(createRequire(main).resolve(binaries)),
    };
  } catch {
    throw new Failure(
      `cannot bring exec-server to another machine without ${binaries}, which is not installed here; install exec-server there`,
    );
  }
}

function pack(files: readonly (readonly [name: string, content: Buffer])[]): Buffer {
  const index = JSON.stringify(files.map(([name, content]) => [name, content.length]));
  return gzipSync(Buffer.concat([Buffer.from(`${index}\n`), ...files.map(([, content]) => content)]));
}
