import type { Desk } from "../desk.ts";

/** A shell on the other machine, which is left with `~.`. */
export async function shell(desk: Desk): Promise<readonly string[]> {
  const terminal = await desk.terminal();
  await terminal.begin("exec-server -H build shell");
  await terminal.shows("ann@build:~$");
  await terminal.enter("echo in $PWD");
  await terminal.shows(/^in .*\nann@build:~\$$/m);
  await terminal.type("~.");
  await terminal.prompt();
  return [await terminal.screen()];
}
