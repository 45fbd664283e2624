import { CapabilityError, RpcError } from "../base/errors.ts";
import { ForeignPathError, PathUriError } from "../base/file-uri.ts";
import { type NativePath, toNativePath } from "../capabilities/files/native-path.ts";
import { RpcCode } from "../protocol/errors.ts";
import { pathFromParam } from "./path-dialect.ts";

/** A path of a request. What is no path is a fault of the parameters; what names nothing on this host is invalid input. */
export function decodePath(text: string): NativePath {
  try {
    return toNativePath(pathFromParam(text));
  } catch (error) {
    if (error instanceof PathUriError) throw new RpcError(RpcCode.invalidParams, error.message);
    if (error instanceof ForeignPathError) throw new CapabilityError("INVALID_INPUT", error.message);
    throw error;
  }
}
