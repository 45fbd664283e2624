import type { Desk } from "../desk.ts";

/** A program's first message, typed by hand. */
export async function bridge(desk: Desk): Promise<readonly string[]> {
  const terminal = await desk.terminal();
  await terminal.begin("exec-server bridge --stdio -H build | cut -c 1-90");
  await terminal.enter('{"id":1,"method":"initialize","params":{"clientName":"me"}}');
  await terminal.shows(/^\{.*"result"/m);
  await terminal.press("C-d");
  await terminal.prompt();
  return [await terminal.screen()];
}
