import { setTimeout as delay } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import { MAX_TIMER_MS } from "../../../base/duration.ts";
import { readCast } from "../cast/cast-file.ts";
import { type End, setAction } from "../outcome/end-with.ts";
import { parseDurationArgument } from "../arguments.ts";
import { print } from "../../shared/standard-streams.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";
import { leaveScreen } from "../terminal/sequences.ts";

interface ReplayOptions {
  readonly speed: number;
  readonly maxIdle?: number;
}

const EXAMPLES = `
Status: 0, 1 if the file is no recording, 130 after Ctrl-C.

Examples:
  exec-server replay demo.cast
  exec-server replay --speed 4 --max-idle 1s demo.cast
`;

/** Adds `replay`. */
export function define(program: Command): void {
  const command = program
    .command("replay")
    .summary("play a recorded terminal")
    .description("Play a recording (asciicast, version 2 or 3) in this terminal. Ctrl-C ends it.")
    .argument("<file>", "recording; '-' reads stdin")
    .option("--speed <NUMBER>", "playback speed: 2 plays twice as fast", parseSpeed, 1)
    .option("--max-idle <DURATION>", "shorten pauses to at most this long: 2s", parseDurationArgument)
    .addHelpText("after", EXAMPLES);
  setAction(command, replay);
}

/** Resolves with how it ended. */
async function replay(
  file: string,
  { speed, maxIdle = Number.POSITIVE_INFINITY }: ReplayOptions,
): Promise<End> {
  const { events } = await readCast(file);
  const terminal = new LocalTerminal();
  const stop = new AbortController();
  const unlisten = terminal.onEndingSignal(() => stop.abort());
  let last = 0;
  try {
    for await (const { time, kind, data } of events) {
      const pause = Math.min(Math.min((time - last) * 1_000, maxIdle) / speed, MAX_TIMER_MS);
      last = time;
      if (pause > 0) await delay(pause, undefined, { signal: stop.signal });
      if (kind === "o") await print(data);
    }
    return 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    // The recorded program was cut off, and may have used the whole screen.
    if (terminal.size !== undefined) await print(leaveScreen());
    return "SIGINT";
  } finally {
    unlisten();
  }
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (text.trim() !== "" && speed > 0 && speed <= 1_000) return speed;
  throw new InvalidArgumentError("Expected a number above 0, at most 1000.");
}
