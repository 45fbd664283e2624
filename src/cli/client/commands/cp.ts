import type { Command } from "commander";
import { setAction } from "../outcome/end-with.ts";
import { copyAll } from "../copying/copy-all.ts";
import { withTarget } from "../target/target-options.ts";

const EXAMPLES = `
A path on the server is written :PATH, one on a host HOST:PATH, and a plain PATH is on this machine; a name with a
colon is written ./a:b. Between two servers the files pass through this command.

If DST is a directory, the copy goes into it under the name of SRC (SRC/. copies what is in the directory SRC);
otherwise DST is the name of the copy. Files are replaced, directories merged, and links in DST are never written
through. Permissions and links are preserved, owners and times are not.

Run the same command again to resume an interrupted copy: files that have arrived are compared by SHA-256 and not
sent again, and large files resume where they stopped. What was sent is verified, too. Both need a server that has
fs/hash, which Codex's does not: it gets everything again, unverified.

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
    .description(
      "Copy files and directories to, from and between servers. An interrupted copy resumes where it stopped.",
    )
    .usage("[OPTIONS] SRC... DST")
    .argument("<path...>", "what to copy, and where to")
    .option("-r, --recursive", "has no effect: directories are always copied with their contents")
    .option("-L, --follow", "copy what symbolic links point to, instead of the links")
    .option("-q, --quiet", "show no progress")
    .option("--json", "print a summary as JSON")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), copyAll);
}
