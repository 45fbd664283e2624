import { CapabilityError } from "../base/errors.ts";
import { ForeignPathError, PathUriError } from "../base/file-uri.ts";
import { AllowedRoots } from "../capabilities/files/allowed-roots.ts";
import { type FileAccess, freeAccess } from "../capabilities/files/file-access.ts";
import { toNativePath } from "../capabilities/files/native-path.ts";
import { Place } from "../capabilities/files/place.ts";
import { invalidParams } from "./invalid-params.ts";
import { pathFromParam } from "./path-dialect.ts";

/** Where paths of the wire become places: the only way from a request to a file. What a place does is confined to the roots. */
export class Places {
  readonly #access: FileAccess;

  /** Throws a UsageError when a root is no directory. Without any, everything is allowed. */
  constructor(roots: readonly string[]) {
    this.#access = roots.length > 0 ? new AllowedRoots(roots) : freeAccess;
  }

  /** What is no path is a fault of the parameters; what names nothing on this host, or is too long, fails like a file operation. */
  at(text: string): Place {
    try {
      return new Place(toNativePath(pathFromParam(text)), this.#access);
    } catch (error) {
      if (error instanceof PathUriError) throw invalidParams(error.message);
      if (error instanceof ForeignPathError) throw new CapabilityError("INVALID_INPUT", error.message);
      throw error;
    }
  }
}
