import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startNats } from "../../../fixtures/nats-server.ts";
import { joinFleetAs, TOKEN } from "../../fleet-desk.ts";
import type { Desk } from "../desk.ts";

const PRODUCTION = { web: { zone: "eu" }, batch: { zone: "us", gpu: "yes" } } as const;

/** A fleet of two machines: who is there, a command on one of them, and one that is emptied. */
export async function fleet(desk: Desk): Promise<readonly string[]> {
  await using nats = await startNats();
  const hosts = join(desk.machines.here.HOME, ".config/exec-server/hosts.toml");
  const before = await readFile(hosts, "utf8");
  const table = `[fleets.prod]\nservers = "${nats.url}"\nauth_bearer_token = "${TOKEN}"\n`;
  await writeFile(hosts, `${before}\n${table}`);
  const servers = await Promise.all(
    Object.entries(PRODUCTION).map(([id, labels]) =>
      joinFleetAs({ servers: nats.url, id, labels, slots: 4 }),
    ),
  );
  try {
    const terminal = await desk.terminal();
    await terminal.run("exec-server fleet ls");
    await terminal.run("exec-server -H prod/web run -- echo hello");
    await terminal.run("exec-server fleet drain prod/web --timeout 10m");
    await terminal.run("exec-server fleet ls --label zone=eu");
    await terminal.run("exec-server fleet uncordon prod/web");
    await terminal.run("exec-server -H prod/mail run -- uptime");
    return [await terminal.screen()];
  } finally {
    await writeFile(hosts, before);
    await Promise.all(servers.map((server) => server.close()));
  }
}
