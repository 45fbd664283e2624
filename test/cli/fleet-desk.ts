import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type FleetOptions, type ListeningServer, serve } from "../../src/server/index.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";
import { Person } from "./person.ts";

export const TOKEN = "a-token-of-more-than-thirty-two-bytes";

/** A user whose hosts.toml has a fleet, and three executors in it. */
export interface FleetDesk extends AsyncDisposable {
  readonly person: Person;
  readonly nats: NatsServer;
  readonly hosts: string;
  /** What hosts.toml says about the fleet `prod`. */
  readonly prod: string;
  write(text: string): void;
  join(id: string, labels?: Record<string, string>, token?: string): Promise<ListeningServer>;
}

const CONFIG = `
authorization {
  users = [
    { user: exec, password: e }
    { user: anna, password: a }
    { user: eve, password: v, permissions: {
      subscribe: ["_INBOX.eve.>"], publish: ["exec.web-1.>"] } }
  ]
}`;

/** A server that is part of a fleet. */
export function joinFleetAs(fleet: FleetOptions, token = TOKEN): Promise<ListeningServer> {
  const tokenSha256 = createHash("sha256").update(token).digest();
  return serve({
    environment: process.env,
    version: "1.2.3",
    authentication: { mode: "capability-token", tokenSha256 },
    fleet,
  });
}

export async function openFleetDesk(): Promise<FleetDesk> {
  const nats = await startNats(CONFIG);
  const person = new Person();
  const hosts = join(person.home, ".config/exec-server/hosts.toml");
  mkdirSync(dirname(hosts), { recursive: true });
  const prod = `[fleets.prod]
servers = "${nats.url}"
user = "anna"
password = "a"
auth_bearer_token = "${TOKEN}"
`;
  const servers: ListeningServer[] = [];
  const desk: FleetDesk = {
    person,
    nats,
    hosts,
    prod,
    write: (text) => writeFileSync(hosts, text, { mode: 0o600 }),
    join: async (id, labels = {}, token = TOKEN) => {
      const login = { servers: nats.url, user: "exec", password: "e" };
      const server = await joinFleetAs({ ...login, id, labels, slots: 4 }, token);
      servers.push(server);
      return server;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.close()));
      await person[Symbol.asyncDispose]();
      await nats[Symbol.asyncDispose]();
    },
  };
  desk.write(prod);
  return desk;
}
