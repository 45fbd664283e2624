import type { Command } from "commander";
import { setAction } from "../outcome/end-with.ts";
import { forEachPath } from "../listing/for-each-path.ts";
import { print } from "../../shared/standard-streams.ts";
import { absolutePath } from "../target/remote-path.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

const EXAMPLES = `
A path may be written PATH, :PATH or HOST:PATH. Relative paths start where 'run' starts.

Status: 0, or 1 if a file could not be read.

Examples:
  exec-server cat /etc/os-release
  exec-server cat build:/srv/app/config.json | jq .port
`;

/** Adds `cat`. */
export function define(program: Command): void {
  const command = program
    .command("cat")
    .summary("print files")
    .description("Print files to stdout, one after another.")
    .usage("[OPTIONS] PATH...")
    .argument("<path...>", "files")
    .addHelpText("after", EXAMPLES);
  setAction(withTarget(command), cat);
}

function cat(paths: readonly string[], options: TargetOptions): Promise<number> {
  return forEachPath(paths, options, async (connected, path) => {
    for await (const piece of connected.host.files.readStream(absolutePath(connected, path)))
      await print(piece);
  });
}
