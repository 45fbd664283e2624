import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Desk } from "../desk.ts";

/** A web server that only the other machine reaches, read through a tunnel and with `fetch`. */
export async function tunnel(desk: Desk): Promise<readonly string[]> {
  const server = createServer((_, answer) => answer.end("hello from build\n")).listen(0, "127.0.0.1");
  try {
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const terminal = await desk.terminal();
    await terminal.begin(`exec-server -H build tunnel 0:localhost:${port}`);
    const shown = await terminal.shows(/^127\.0\.0\.1:\d+ -> /m);
    const other = await desk.terminal();
    await other.run(`curl http://${/127\.0\.0\.1:\d+/.exec(shown)![0]}/`);
    await terminal.press("C-c");
    await terminal.prompt();
    const screens = [await terminal.screen(), await other.screen()];
    await other.clear();
    await other.run(`exec-server -H build fetch http://localhost:${port}/`);
    const fetched = await other.screen();
    await terminal.clear();
    await terminal.begin(`exec-server -H build tunnel -R 0:localhost:${port}`);
    await terminal.shows(/^127\.0\.0\.1:\d+ on build -> /m);
    await terminal.press("C-c");
    await terminal.prompt();
    return [...screens, fetched, await terminal.screen()];
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
