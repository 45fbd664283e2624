import { CapabilityError, RpcError } from "../base/errors.ts";
import { ForeignPathError, pathFromUri, PathUriError } from "../base/file-uri.ts";
import { type NativePath, toNativePath } from "../capabilities/files/native-path.ts";
import { RpcCode } from "../protocol/errors.ts";

/** A path of a request. What is no path URI is a fault of the parameters; what names nothing on this host is invalid input. */
export function decodePath(uri: string): NativePath {
  try {
    return toNativePath(pathFromUri(uri));
  } catch (error) {
    if (error instanceof PathUriError) throw new RpcError(RpcCode.invalidParams, error.message);
    if (error instanceof ForeignPathError) throw new CapabilityError("INVALID_INPUT", error.message);
    throw error;
  }
}
