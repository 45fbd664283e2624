import { afterAll } from "vitest";
import { connect as connectDirectly, type ConnectTarget } from "../../src/client/host/connect.ts";
import {
  type ListeningServer,
  serve as serveDirectly,
  type ServeOptions,
  type Server,
} from "../../src/server/index.ts";
import { type FleetScene, openFleetScene } from "../fixtures/fleet-scene.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";

// `serve` and `connect` for suites that hold over NATS as they do over a WebSocket and in one program.

/** TEST_TRANSPORT=nats: clients of these tests' servers reach them over a real NATS server. */
export const isOverNats = process.env["TEST_TRANSPORT"] === "nats";

let nats: Promise<NatsServer> | undefined;
/** How to reach listening servers, by their URLs. */
const addresses = new Map<string, { fleet: { servers: string }; id: string }>();
/** How to reach servers that do not listen. */
const scenes = new Map<object, Promise<FleetScene>>();

afterAll(async () => {
  for (const scene of scenes.values()) await (await scene)[Symbol.asyncDispose]();
  await (await nats)?.[Symbol.asyncDispose]();
});

export async function serve(options: ServeOptions = {}): Promise<ListeningServer> {
  if (!isOverNats) return serveDirectly(options);
  nats ??= startNats();
  const fleet = { servers: (await nats).url };
  const id = `server-${addresses.size}`;
  const isOpen = options.authentication === undefined;
  const server = await serveDirectly({
    ...options,
    ...(isOpen ? { insecureNoAuth: true } : {}),
    fleet: { ...fleet, id },
  });
  addresses.set(server.url, { fleet, id });
  return server;
}

export const connect: typeof connectDirectly = (target, options) =>
  connectDirectly(isOverNats ? overNats(target) : target, options);

function overNats(target: ConnectTarget): ConnectTarget {
  if (typeof target === "string") return addresses.get(target) ?? target;
  if (!isServer(target)) return target;
  const scene = scenes.get(target) ?? openFleetScene(target);
  scenes.set(target, scene);
  return async (signal) => (await scene).dial(signal);
}

function isServer(target: ConnectTarget): target is Server {
  return typeof target === "object" && "accept" in target;
}
