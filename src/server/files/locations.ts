import { statSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { AllowedRoots } from "../../capabilities/files/allowed-roots.ts";
import { type FileAccess, freeAccess, sandboxedAccess } from "../../capabilities/files/file-access.ts";
import { toNativePath } from "../../capabilities/files/native-path.ts";
import { Location } from "../../capabilities/files/location.ts";
import { decodePath } from "../wire/path-param.ts";
import type { FileClient } from "./file-client.ts";

interface PathParams {
  readonly path: string;
  readonly noLinks?: boolean | null | undefined;
}

/**
 * Turns paths of the wire into locations: the only way from a request to a file. A location confines everything to the
 * roots: the client's, if it has its own, which lie within the server's.
 */
export class Locations {
  readonly #access: FileAccess;

  /** Throws a UsageError if a root is not a directory. Without roots, everything is allowed. */
  constructor(roots: readonly string[], access?: FileAccess) {
    this.#access = access ?? (roots.length > 0 ? new AllowedRoots(roots) : freeAccess);
  }

  /** For use inside a sandbox, which may hide some of the roots. If it hides them all, nothing is allowed. */
  static inside(roots: readonly string[] | undefined): Locations {
    return new Locations(
      [],
      roots === undefined ? sandboxedAccess : new AllowedRoots(roots.filter(isDirectory)),
    );
  }

  /** The location that a request names. Its policy has been dealt with. */
  locate(client: FileClient, { path, noLinks }: PathParams): Location {
    const location = this.at(path, client);
    return noLinks === true ? location.withoutLinks() : location;
  }

  /**
   * Text that is not a path is an invalid parameter; a path that cannot exist on this host, or is too long, fails like
   * a file operation.
   */
  at(text: string, { rights }: Pick<FileClient, "rights">): Location {
    const path = decodePath(text, ({ message }) => new CapabilityError("INVALID_INPUT", message));
    return new Location(toNativePath(path), rights.files?.access ?? this.#access);
  }
}

/** Links are followed by default. */
export function linksOf({ followSymlinks }: { followSymlinks?: boolean | null | undefined }) {
  return { followSymlinks: followSymlinks ?? true };
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
