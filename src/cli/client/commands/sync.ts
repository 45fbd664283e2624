import { repeated } from "../arguments.ts";
import type { Command } from "commander";
import { setAction } from "../outcome/end-with.ts";
import { syncDirectories } from "../syncing/sync-directories.ts";
import { withTarget } from "../target/target-options.ts";

const EXAMPLES = `
What is in the directory SRC is copied into the directory DST, which is created if needed. A path on the server is
written :PATH, one on a host HOST:PATH, and a plain PATH is on this machine.

Only what differs is copied: files are compared by size and SHA-256, so times and clocks do not matter. Permissions and
links are kept, owners and times are not, and DST itself keeps its permissions. Nothing is written or deleted through
links that are in DST. Without --delete, what is only in DST stays.

A PATTERN is one of .gitignore: *.log, /build, docs/**/*.tmp, !keep.log. What is excluded is neither copied nor deleted.

--watch prints a line for each burst of changes. After a lost connection, or more changes than can be listed, it looks
at everything again. What is changed in DST is not noticed. It ends with SIGINT, SIGTERM or SIGHUP, or with an error
when SRC is gone or the session is lost.

Status: 0, or 1 if something was not copied. A signal during a copy: 128+n; while --watch waits: 0.

Examples:
  exec-server sync ./src :work/src
  exec-server sync --watch --delete --gitignore . build:project
  exec-server sync --delete --dry-run ./site web:/srv/site
  exec-server sync --exclude '*.log' ./data build:/srv/data
  exec-server sync build:/var/log/app ./logs
`;

/** Adds `sync`. */
export function define(program: Command): void {
  const command = program
    .command("sync")
    .summary("mirror a directory to another place, and keep it in sync")
    .description("Make the directory DST a mirror of SRC. Only what differs is copied.")
    .usage("[OPTIONS] SRC DST")
    .argument("<src>", "the directory to copy from")
    .argument("<dst>", "the directory to copy to")
    .option("-w, --watch", "keep running, and copy each change in SRC, until interrupted")
    .option("--delete", "delete what is not in SRC, once everything is copied")
    .option("--force", "delete even if SRC is empty")
    .option("--exclude <PATTERN>", "leave out what matches (repeatable)", repeated)
    .option("--gitignore", "leave out .git and what the .gitignore files of SRC name")
    .option("-n, --dry-run", "change nothing; list what would change")
    .option("-q, --quiet", "show no progress and no summary")
    .option("--json", "print a summary as JSON; with --watch, one line for each batch of changes")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), syncDirectories);
}
