import { z } from "zod";
import { method } from "./define.ts";
import { Empty, optional, PathUri } from "./fields.ts";
import { SandboxContext } from "./sandbox.ts";

/** What this server adds to Codex's file methods. */
export const fileExtensionMethods = {
  "fs/rename": method({
    doc: "Moves a file, a link or a directory within its file system, in one step. A file or link at the new place is replaced, a directory only by one when it is empty.",
    family: "filesystem",
    extension: true,
    params: z.object({ from: PathUri, to: PathUri, sandbox: optional(SandboxContext) }),
    result: Empty,
  }),
};
