import { serve } from "../../../../src/server/index.ts";
import type { Desk } from "../desk.ts";

/** A server that another program runs, reached through a relay. */
export async function relay(desk: Desk): Promise<readonly string[]> {
  await using server = await serve();
  const service = await desk.terminal();
  await service.begin("exec-server relay --listen http://127.0.0.1:0 --log-level warn");
  const [base] = /^http:\/\/127\.0\.0\.1:\d+$/m.exec(await service.shows(/^http:\/\/127\.0\.0\.1:\d+$/m))!;
  const forward = await desk.terminal();
  await forward.begin(
    `CODEX_API_KEY=unused exec-server forward --connect ${server.url} \\\n--remote ${base} --environment-id build-1`,
  );
  await forward.shows(/^Key: /m);
  const client = await desk.terminal();
  await client.run(`exec-server run --url relay+${base}/build-1#any -- echo hello`);
  for (const terminal of [forward, service]) {
    await terminal.press("C-c");
    await terminal.prompt();
  }
  return [await service.screen(), await forward.screen(), await client.screen()];
}
