import type { Command } from "commander";
import { endWith } from "../outcome/end-with.ts";
import { copyAll, type CopyOptions } from "../copying/copy-all.ts";
import { withTarget } from "../target/target-options.ts";

const EXAMPLES = `
A path on the server is written :PATH, one on a host HOST:PATH, and a plain PATH is on this machine; a name with a
colon is written ./a:b. Between two servers the files pass through this command.

If DST is a directory, the copy goes into it under the name of SRC (SRC/. copies what is in the directory SRC);
otherwise DST is the name of the copy. Files are replaced, directories merged, and nothing is written through links
that are in DST. Permissions and links are kept, owners and times are not.

An interrupted copy is continued by the same command: files that have arrived are compared by their SHA-256 and not
sent again, and large files go on where they were. What was sent is compared, too. Both need a server that knows
fs/hash, which Codex's does not: it gets everything again, unchecked.

Status: 0, or 1 if something was not copied.

Examples:
  exec-server cp notes.txt :/tmp/
  exec-server cp -H build ./src :/srv/app
  exec-server cp build:/var/log/app.log .
  exec-server cp build:/srv/data test:/srv/data
`;

/** Adds `cp`. */
export function define(program: Command): void {
  const command = program
    .command("cp")
    .summary("copy files and directories to, from and between servers")
    .description("Copy files and directories to, from and between servers. An interrupted copy is continued.")
    .usage("[OPTIONS] SRC... DST")
    .argument("<path...>", "what to copy, and where to")
    .option("-r, --recursive", "has no effect: directories are always copied with their contents")
    .option("-L, --follow", "copy what links lead to, instead of the links")
    .option("-q, --quiet", "show no progress")
    .option("--json", "print a summary as JSON")
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (paths: string[]) => {
    const isComplete = await copyAll(paths, command.optsWithGlobals<CopyOptions>());
    await endWith(isComplete ? 0 : 1);
  });
}
