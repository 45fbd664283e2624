import { type Command, Option } from "commander";
import { SANDBOX_PRESETS, type SandboxPreset } from "../../../protocol/sandbox-options.ts";
import { endWith } from "../end-with.ts";
import { asFailure, OWN_FAILURE_STATUS } from "../failure.ts";
import { parseDuration } from "../parse-duration.ts";
import { runPiped } from "../running/run-piped.ts";
import { startOptions } from "../running/start-options.ts";
import { failedStart } from "../running/exit-status.ts";
import { connectTarget } from "../target/connect-target.ts";
import { type TargetOptions, withTarget } from "../target/target-options.ts";

interface RunOptions extends TargetOptions {
  readonly stdin: boolean;
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly timeout?: number;
  readonly sandbox?: SandboxPreset;
}

const EXAMPLES = `
The command's status becomes this command's. 126 and 127: the program cannot be executed or was not found; 124: it
was ended by --timeout; 255: exec-server failed.

Examples:
  exec-server run -- uname -a
  exec-server run --cwd /srv/app --env CI=1 -- npm test
  exec-server run -- sh -c 'tar c src | gzip' < /dev/null > src.tar.gz
`;

/** Adds `run`. */
export function define(program: Command): void {
  const command = program
    .command("run")
    .summary("run a command; its input, output, signals and status are passed on")
    .description("Run a command. Its input, output, signals and exit status are passed on, as ssh does.")
    .usage("[OPTIONS] [--] CMD [ARG...]")
    .argument("<cmd...>", "program and its arguments")
    .passThroughOptions()
    .option("-i, --interactive", "has no effect: stdin is always passed on")
    .option("-n, --no-stdin", "do not read stdin")
    .option("--cwd <DIR>", "working directory of the command")
    .option("--env <K=V>", "set a variable; K alone takes its value from here (repeatable)", repeated)
    .option("--timeout <DURATION>", "end the command after this time: 10s, 5m", parseDuration)
    .addOption(new Option("--sandbox <NAME>", "confine the command").choices(SANDBOX_PRESETS))
    .addHelpText("after", EXAMPLES);
  withTarget(command).action(async (argv: string[]) => {
    await endWith(await run(argv, command.optsWithGlobals<RunOptions>()));
  });
}

/** Resolves with the exit status. */
async function run(argv: readonly string[], options: RunOptions): Promise<number> {
  try {
    const connected = await connectTarget(options);
    await using host = connected.host;
    return await runPiped(host, argv, { ...startOptions(connected, options), stdin: options.stdin });
  } catch (error) {
    throw failedStart(error) ?? asFailure(error, OWN_FAILURE_STATUS) ?? error;
  }
}

function repeated(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
