import type { Desk } from "../desk.ts";

/** Ctrl-C while a command runs. */
export async function interrupt(desk: Desk): Promise<readonly string[]> {
  const terminal = await desk.terminal();
  await terminal.begin("exec-server run -- tail -f notes.txt");
  await terminal.shows("buy milk");
  await terminal.press("C-c");
  await terminal.prompt();
  await terminal.run('echo "status $?"');
  return [await terminal.screen()];
}
