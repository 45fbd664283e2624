import type { Desk } from "../desk.ts";

/** What Tab makes of an unfinished line in bash. */
export async function completion(desk: Desk): Promise<readonly string[]> {
  const terminal = await desk.terminal();
  await terminal.run("source <(exec-server completion bash)");
  await terminal.type("exec-server lo");
  await terminal.press("Tab");
  await terminal.shows(/^\$ exec-server logs$/m);
  await terminal.type("--t");
  await terminal.press("Tab", "Tab");
  await terminal.shows(/--timestamps[^]*\n\$ exec-server logs --t/);
  return [await terminal.screen()];
}
