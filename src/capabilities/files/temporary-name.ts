import { randomUUID } from "node:crypto";
import { joinPath, type NativePath } from "./native-path.ts";

let prefix: string | undefined;
let namesGiven = 0;

/** A new name on each call, with a prefix unique to this process. */
export function temporaryName(directory: NativePath): NativePath {
  prefix ??= `.exec-server-${randomUUID()}-`;
  namesGiven += 1;
  return joinPath(directory, `${prefix}${namesGiven}`);
}
