import type { Desk } from "../desk.ts";

/** A server in a terminal, which is ended with Ctrl-C. */
export async function serve(desk: Desk): Promise<readonly string[]> {
  const terminal = await desk.terminal();
  await terminal.begin("exec-server serve");
  await terminal.shows("All commands");
  await terminal.press("C-c");
  await terminal.prompt();
  return [await terminal.screen()];
}
