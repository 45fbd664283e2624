import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname } from "node:path";
import { requireBundle } from "../../wire/own-bundle.ts";

/** Directory of the helper's parts inside: below /dev, which exists in every sandbox and shows nothing of the disk. */
const DIRECTORY = "/dev/.exec-server-files";

const BUNDLE = "sandbox-helper.js";
const FFI_LIBRARY = "koffi";
const LOADER = /^ld-(?:linux|musl)[^/]*\.so/;

/** A helper holds the pieces of one large answer at a time; its bytes are outside of V8's heap. */
const NODE_OPTIONS = ["--max-old-space-size=192", "--max-semi-space-size=8"];

/** How to start the helper in a sandbox, regardless of what it shows of the disk. */
export interface HelperProgram {
  readonly path: string;
  readonly argv: readonly string[];
  /** Files and directories that it needs, read-only. */
  readonly binds: readonly { readonly from: string; readonly to: string }[];
}

/**
 * Node itself, the libraries it has loaded, the FFI library, and the helper. Where a dynamic loader started Node, it is
 * started by name, because the path that is written in Node's binary may lead nowhere inside.
 */
export function helperProgram(): HelperProgram {
  const libraries = loadedLibraries();
  const loader = libraries.find((path) => LOADER.test(basename(path)));
  const at = (name: string): string => `${DIRECTORY}/${name}`;
  const node = [at("node"), ...NODE_OPTIONS, at(BUNDLE)];
  const argv = loader === undefined ? node : [at(basename(loader)), "--library-path", DIRECTORY, ...node];
  return {
    path: argv[0]!,
    argv,
    binds: [
      { from: realpathSync(process.execPath), to: at("node") },
      ...libraries.map((path) => ({ from: realpathSync(path), to: at(basename(path)) })),
      { from: requireBundle(BUNDLE, "the sandbox is unavailable for files"), to: at(BUNDLE) },
      ...ffiPackages().map(({ name, directory }) => ({ from: directory, to: at(`node_modules/${name}`) })),
    ],
  };
}

/** By the names under which the loader looks for them, which may differ from the file names. */
function loadedLibraries(): string[] {
  const { sharedObjects } = reportWithoutNetwork();
  return sharedObjects.filter((path) => path.startsWith("/") && !path.endsWith(".node") && existsSync(path));
}

/** Otherwise Node would look up the name of every client's address, one after another. */
function reportWithoutNetwork(): { sharedObjects: readonly string[] } {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  report.excludeNetwork = true;
  try {
    return report.getReport() as unknown as { sharedObjects: readonly string[] };
  } finally {
    report.excludeNetwork = excludeNetwork;
  }
}

/** The library itself, and the package with its binary for this machine, if it has one. */
function ffiPackages(): { name: string; directory: string }[] {
  const own = createRequire(import.meta.url);
  const main = own.resolve(FFI_LIBRARY);
  const packages = [{ name: FFI_LIBRARY, directory: dirname(main) }];
  const binary = `@koromix/koffi-${process.platform}-${process.arch}`;
  try {
    packages.push({ name: binary, directory: dirname(createRequire(main).resolve(binary)) });
  } catch {
    // It was built on this machine, and is part of the library.
  }
  return packages;
}
