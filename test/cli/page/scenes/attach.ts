import type { Desk } from "../desk.ts";

/** Two terminals share a shell that was left running; one of them leaves it. */
export async function attach(desk: Desk): Promise<readonly string[]> {
  const first = await desk.terminal();
  const second = await desk.terminal();
  await first.run("exec-server run -d -t --name pair --env PS1='pair> ' -- sh");
  await first.begin("exec-server attach pair");
  await first.shows(/^pair>/m);
  await first.enter("echo who is there?");
  await first.shows(/^who is there\?$/m);
  await second.begin("exec-server attach pair");
  await second.shows(/^who is there\?$/m);
  await second.enter("echo me");
  await second.shows(/^me\npair>$/m);
  await first.shows(/^me\npair>$/m);
  await first.press("Enter", "~", ".");
  await first.prompt();
  await second.shows(/^me\npair>\npair>$/m);
  const screens = [await first.screen(), await second.screen()];
  await first.run("exec-server kill pair");
  return screens;
}
