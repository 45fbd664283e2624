import { createRequire } from "node:module";
import { CapabilityError } from "../base/errors.ts";

/** Calls C functions. It is an optional dependency, because only servers need it. */
const FFI_LIBRARY = "koffi";

/** Facts that decide whether a machine can serve. Tests use it to describe other machines. */
export interface Machine {
  readonly platform: string;
  /** Throws if the package does not exist. */
  readonly resolve: (name: string) => unknown;
}

/** Throws an UNSUPPORTED error that says in one sentence why this machine cannot serve. */
export function assertCanServe({ platform, resolve }: Machine = thisMachine()): void {
  if (platform !== "linux")
    throw new CapabilityError(
      "UNSUPPORTED",
      `exec-server can serve only on Linux, not on ${platform}; its client library works here too`,
    );
  try {
    resolve(FFI_LIBRARY);
  } catch (cause) {
    throw new CapabilityError(
      "UNSUPPORTED",
      `exec-server cannot serve without its optional dependency ${FFI_LIBRARY}: install it with \`npm install --include=optional\``,
      { cause },
    );
  }
}

/** Loading it, unlike looking for it, takes long enough to be left for later. */
export function loadFfiLibrary(): typeof import("koffi") {
  try {
    return createRequire(import.meta.url)(FFI_LIBRARY) as typeof import("koffi");
  } catch (cause) {
    throw new CapabilityError(
      "UNSUPPORTED",
      `exec-server cannot serve because its dependency ${FFI_LIBRARY} does not load on ${process.platform} ${process.arch}: ${(cause as Error).message}`,
      { cause },
    );
  }
}

function thisMachine(): Machine {
  return { platform: process.platform, resolve: createRequire(import.meta.url).resolve };
}
