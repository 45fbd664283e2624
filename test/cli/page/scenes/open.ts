import type { Desk } from "../desk.ts";

/** The web console of the own server, on a machine without a screen. */
export async function open(desk: Desk): Promise<readonly string[]> {
  const terminal = await desk.terminal();
  await terminal.begin("exec-server open");
  await terminal.shows("keeps running");
  await terminal.press("C-c");
  await terminal.prompt();
  return [await terminal.screen()];
}
