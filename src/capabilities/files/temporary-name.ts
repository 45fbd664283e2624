import { randomUUID } from "node:crypto";
import { joinPath, type NativePath } from "./native-path.ts";

let prefix: string | undefined;
let namesGiven = 0;

/** One name after another, with a beginning that no other process has. */
export function temporaryName(directory: NativePath): NativePath {
  prefix ??= `.exec-server-${randomUUID()}-`;
  namesGiven += 1;
  return joinPath(directory, `${prefix}${namesGiven}`);
}
