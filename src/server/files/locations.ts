import { invalidParams } from "../wire/refusals.ts";
import { statSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { ForeignPathError, PathUriError } from "../../base/file-uri.ts";
import { AllowedRoots } from "../../capabilities/files/allowed-roots.ts";
import { type FileAccess, freeAccess, sandboxedAccess } from "../../capabilities/files/file-access.ts";
import { toNativePath } from "../../capabilities/files/native-path.ts";
import { Location } from "../../capabilities/files/location.ts";
import type { Rights } from "../access/rights.ts";
import { pathFromParam } from "../wire/path-param.ts";

/**
 * Turns paths of the wire into locations: the only way from a request to a file. A location confines everything to the roots,
 * of the client if it has its own, which lie within those of the server.
 */
export class Locations {
  readonly #access: FileAccess;

  /** Throws a UsageError if a root is not a directory. Without roots, everything is allowed. */
  constructor(roots: readonly string[], access?: FileAccess) {
    this.#access = access ?? (roots.length > 0 ? new AllowedRoots(roots) : freeAccess);
  }

  /** For the inside of a sandbox, which may hide some of the roots. If it hides them all, nothing is allowed. */
  static inside(roots: readonly string[] | undefined): Locations {
    return new Locations(
      [],
      roots === undefined ? sandboxedAccess : new AllowedRoots(roots.filter(isDirectory)),
    );
  }

  /**
   * Text that is not a path is an invalid parameter; a path that cannot exist on this host, or is too long, fails like
   * a file operation.
   */
  at(text: string, { rights }: { readonly rights: Rights }): Location {
    try {
      return new Location(toNativePath(pathFromParam(text)), rights.files?.access ?? this.#access);
    } catch (error) {
      if (error instanceof PathUriError) throw invalidParams(error.message);
      if (error instanceof ForeignPathError) throw new CapabilityError("INVALID_INPUT", error.message);
      throw error;
    }
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
