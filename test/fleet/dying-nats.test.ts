import { once } from "node:events";
import net, { type AddressInfo, type Socket } from "node:net";
import { expect, test } from "vitest";
import { serve } from "../../src/server/index.ts";
import { startNats } from "../fixtures/nats-server.ts";

const IN_TIME_MS = 15_000;

/** Where the first connection to NATS ends: after so many chunks from one of its ends. */
interface Cut {
  readonly from: "server" | "client";
  readonly chunks: number;
}

/** Carries connections to a port. The first one is cut. */
async function openCuttingRelay(port: number, cut: Cut): Promise<net.Server> {
  let isFirst = true;
  const relay = net.createServer((near) => {
    const far = net.connect(port, "127.0.0.1");
    carry(near, far, isFirst ? cut : undefined);
    isFirst = false;
  });
  await once(relay.listen(0, "127.0.0.1"), "listening");
  return relay;
}

function carry(near: Socket, far: Socket, cut: Cut | undefined): void {
  const end = (): void => {
    near.destroy();
    far.destroy();
  };
  for (const [from, to, name] of [
    [near, far, "client"],
    [far, near, "server"],
  ] as const) {
    let left = cut?.from === name ? cut.chunks : Number.POSITIVE_INFINITY;
    from.on("error", () => {}).on("close", end);
    from.on("data", (bytes) => {
      left -= 1;
      // What the client sends is lost with its server; what the server sent has arrived.
      if (left > 0) to.write(bytes);
      else if (name === "client") end();
      else to.end(bytes);
    });
  }
}

test.each<[string, Cut]>([
  ["greeted", { from: "server", chunks: 1 }],
  ["got the client's login", { from: "client", chunks: 1 }],
  ["let the client in", { from: "server", chunks: 2 }],
  ["got the first subscriptions", { from: "client", chunks: 3 }],
])(
  "a server joins its fleet although NATS dies when it has just %s",
  async (_, cut) => {
    await using nats = await startNats();
    const relay = await openCuttingRelay(nats.port, cut);
    const started = performance.now();
    const { port } = relay.address() as AddressInfo;
    const server = await serve({
      environment: process.env,
      listen: "none",
      insecureNoAuth: true,
      fleet: { servers: `nats://127.0.0.1:${port}`, id: "a", keepTrying: true },
    });
    try {
      expect(performance.now() - started).toBeLessThan(IN_TIME_MS);
    } finally {
      await server.close();
      relay.close();
    }
  },
  60_000,
);

test("without keepTrying, the loss of NATS rejects, and leaves no connection behind", async () => {
  await using nats = await startNats();
  const relay = await openCuttingRelay(nats.port, { from: "server", chunks: 2 });
  const { port } = relay.address() as AddressInfo;
  const fleet = { servers: `nats://127.0.0.1:${port}`, id: "a" };
  await expect(
    serve({ environment: process.env, listen: "none", insecureNoAuth: true, fleet }),
  ).rejects.toMatchObject({
    name: "ConnectionError",
    message: "the connection to NATS was lost",
  });
  // Resolves when the last connection is closed.
  await new Promise((resolve) => relay.close(resolve));
});
