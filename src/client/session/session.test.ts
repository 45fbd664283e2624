import { expect, test } from "vitest";
import { ConnectionError } from "../../base/errors.ts";
import { silentLogger } from "../../base/logger.ts";
import type { Link, LinkEvents } from "../../rpc/link.ts";
import { ClientSession } from "./session.ts";

const OPTIONS = {
  clientName: "test",
  connectTimeoutMs: 20_000,
  initializeTimeoutMs: 20_000,
  recoveryTimeoutMs: 20_000,
  answerTimeoutMs: Number.POSITIVE_INFINITY,
  logger: silentLogger,
};

test("a connection that ends with the answer to its handshake is not used", async () => {
  const server = new Links(["dies"]);
  const opening = ClientSession.open(server, OPTIONS);
  await expect(opening).rejects.toThrow(ConnectionError);
});

test("a new connection that ends before the session uses it is replaced by another", async () => {
  const server = new Links(["lives", "dies", "lives"]);
  const session = await ClientSession.open(server, OPTIONS);
  server.opened[0]!.events.closed("cut");
  expect(await session.request("environment/status", null)).toEqual({ status: "ready" });
  expect(server.opened.map(({ methods }) => methods)).toEqual([
    ["initialize"],
    ["initialize"],
    ["initialize", "environment/status"],
  ]);
  expect(session.connections).toBe(2);
  expect(session.state).toBe("connected");
});

/** Links to a server, each of which lives or dies as soon as it has a session. */
class Links {
  readonly resumable = true;
  readonly opened: { events: LinkEvents; methods: string[] }[] = [];
  readonly #fates: readonly ("lives" | "dies")[];

  constructor(fates: readonly ("lives" | "dies")[]) {
    this.#fates = fates;
  }

  async open(events: LinkEvents): Promise<Link> {
    const fate = this.#fates[this.opened.length];
    const methods: string[] = [];
    this.opened.push({ events, methods });
    return {
      request: async (method) => {
        methods.push(method);
        if (method !== "initialize") return { status: "ready" };
        if (fate === "dies") events.closed("cut");
        return { sessionId: "session-1" };
      },
      notify: () => {},
      pause: () => {},
      resume: () => {},
      close: () => {},
      destroy: () => {},
    };
  }
}
