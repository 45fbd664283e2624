import { rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Desk } from "../desk.ts";

/** Long enough for its progress to be seen on a fast machine. It takes no room here, as it is a hole. */
const SIZE = 2 * 1024 ** 3;

/** A copy as it looks on the way, and its interruption. */
export async function copy(desk: Desk): Promise<readonly string[]> {
  const file = join(desk.machines.project, "disk.img");
  await writeFile(file, "");
  await truncate(file, SIZE);
  const terminal = await desk.terminal();
  await terminal.begin("exec-server cp disk.img build:");
  const onTheWay = await terminal.screenWith(/\d%.* left +disk\.img$/m);
  await terminal.press("C-c");
  await terminal.prompt();
  await terminal.run('echo "status $?"');
  await rm(file);
  return [onTheWay, await terminal.screen()];
}
