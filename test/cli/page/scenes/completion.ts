import type { Desk } from "../desk.ts";

/** What Tab makes of an unfinished line in bash. */
export async function completion(desk: Desk): Promise<readonly string[]> {
  const terminal = await desk.terminal();
  await terminal.run("source <(exec-server completion bash)");
  await terminal.type("exec-server lo");
  await terminal.complete(/^\$ exec-server logs$/m);
  await terminal.type("--t");
  await terminal.press("Tab", "Tab");
  await terminal.shows(/--timestamps[^]*\n\$ exec-server logs --t/);
  await terminal.press("C-u");
  await terminal.type("exec-server cat :sr");
  await terminal.complete(/^\$ exec-server cat :src\/$/m);
  await terminal.type("m");
  await terminal.complete(/^\$ exec-server cat :src\/main\.c$/m);
  return [await terminal.screen()];
}
