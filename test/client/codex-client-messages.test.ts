import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import net, { type AddressInfo } from "node:net";
import { PassThrough, Writable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { connect } from "../../src/client/host/connect.ts";
import type { ConnectOptions } from "../../src/client/host/open-host.ts";
import type { Host } from "../../src/client/host/host.ts";
import { serve } from "../../src/server/index.ts";
import { JsonLinesTransport } from "../../src/transport/json-lines.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { connectWebSocket } from "../../src/transport/websocket/connect-websocket.ts";
import { inTime, open } from "./fake-hosts.ts";
import { FakeServer, Refusal } from "./fake-server.ts";

// The guide says what becomes of each message of Codex's client. Each row is provoked, and compared with the guide.

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Row {
  /** What Codex's client says. */
  readonly codex: string;
  readonly name: string;
  readonly code: string;
  readonly message: RegExp;
}

const rows = readFileSync(new URL("../../docs/guide/errors.md", import.meta.url), "utf8")
  .split("\n")
  .map((line) => line.split(" | "))
  .filter((cells) => cells.length === 4 && cells[0]!.startsWith("| `") && /^`\w+Error`$/.test(cells[1]!))
  .map(([codex, name, code, message]): Row => {
    const said = codeIn(codex!);
    const text = message!.startsWith("the same") ? said : codeIn(message!);
    return { codex: said, name: codeIn(name!), code: codeIn(code!), message: patternOf(text) };
  });

/** The first piece of code in a cell. */
function codeIn(cell: string): string {
  const [, , code] = /(`+)(.+?)\1(?!`)/.exec(cell)!;
  return code!;
}

function patternOf(text: string): RegExp {
  const literal = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("…", ".+")}$`, "s");
}

/** A WebSocket server that answers `initialize`, and gives the connection to the test. */
async function webSockets(): Promise<{ url: string; accepted: Promise<WebSocket> }> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  cleanups.push(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const accepted = new Promise<WebSocket>((resolve) =>
    server.on("connection", (connection) => {
      connection.on("message", (data: Buffer) => {
        const { id, method } = JSON.parse(data.toString()) as { id?: number; method: string };
        if (method === "initialize") connection.send(JSON.stringify({ id, result: { sessionId: "s" } }));
      });
      resolve(connection);
    }),
  );
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, accepted };
}

/** A host on a WebSocket that is not replaced, and the server's end. */
async function overWebSocket(): Promise<{ host: Host; transport: Transport; server: WebSocket }> {
  const { url, accepted } = await webSockets();
  const transport = await connectWebSocket(url);
  const host = await connect(transport);
  cleanups.push(() => host.close());
  return { host, transport, server: await accepted };
}

/** Calls something that is not answered, then lets `act` happen. */
async function during(host: Host, act: () => void): Promise<unknown> {
  const asked = host.request("environment/info", {});
  act();
  return asked;
}

/** A host on streams. */
function overStreams(input: PassThrough, output: Writable, options: ConnectOptions = {}): Promise<Host> {
  return connect(new JsonLinesTransport(input, output, "build-server"), options);
}

async function fakeHost(prepare: (server: FakeServer) => void = () => {}): Promise<[Host, FakeServer]> {
  const server = new FakeServer();
  prepare(server);
  return [await open(server), server];
}

async function closedPort(): Promise<number> {
  const listener = net.createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

/** Connects through a registry that refuses. */
async function fromRegistry(status: number, error: object): Promise<unknown> {
  const registry = createServer((request, response) => {
    request.resume();
    response.writeHead(status).end(JSON.stringify({ error }));
  }).listen(0, "127.0.0.1");
  cleanups.push(() => registry.close());
  await once(registry, "listening");
  const { port } = registry.address() as AddressInfo;
  return connect({ relay: `http://127.0.0.1:${port}`, environmentId: "e" }).catch((refusal: unknown) => {
    expect(refusal).toMatchObject({ status });
    throw refusal;
  });
}

/** What provokes each message; rejects with what this library says instead. */
const provoked: Record<string, () => Promise<unknown>> = {
  "failed to spawn exec-server: …": () => connect({ command: ["/no/such/server"] }),

  "timed out connecting to exec-server websocket `…` after …": async () => {
    const silent = net.createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    cleanups.push(() => silent.close());
    return connect(`ws://127.0.0.1:${(silent.address() as AddressInfo).port}`, { connectTimeoutMs: 50 });
  },

  "failed to connect to exec-server websocket `…`: …": async () =>
    connect(`ws://127.0.0.1:${await closedPort()}`),

  "timed out waiting for exec-server initialize handshake after …": () =>
    overStreams(new PassThrough(), new PassThrough(), { initializeTimeoutMs: 50 }),

  "exec-server transport closed": () => connect({ command: ["/bin/sh", "-c", "exit 3"] }),

  "exec-server transport disconnected": async () => {
    const { host, server } = await overWebSocket();
    return during(host, () => server.close(1000));
  },

  "exec-server transport disconnected: failed to parse JSON-RPC message from …: …": () => {
    const input = new PassThrough();
    input.write("not-json\n");
    return overStreams(input, new PassThrough());
  },

  "exec-server transport disconnected: failed to read JSON-RPC message from …: …": () => {
    const input = new PassThrough();
    const connecting = overStreams(input, new PassThrough());
    setImmediate(() => input.destroy(new Error("read EIO")));
    return connecting;
  },

  "exec-server transport disconnected: failed to write JSON-RPC message to …: …": () =>
    overStreams(
      new PassThrough(),
      new Writable({ write: (_chunk, _encoding, done) => done(new Error("write EPIPE")) }),
    ),

  "exec-server transport disconnected: failed to parse websocket JSON-RPC message from …: …": async () => {
    const { host, server } = await overWebSocket();
    return during(host, () => server.send("not-json"));
  },

  "exec-server transport disconnected: failed to read websocket JSON-RPC message from …: …": async () => {
    const { host, server } = await overWebSocket();
    return during(host, () => server.terminate());
  },

  "exec-server transport disconnected: failed to write websocket JSON-RPC message to …: …": async () => {
    const { host, transport, server } = await overWebSocket();
    // What is not read cannot fail to be read.
    transport.pause();
    const { _socket: socket } = server as unknown as { _socket: net.Socket };
    socket.resetAndDestroy();
    for (;;) {
      await host
        .request("environment/info", {}, { signal: AbortSignal.timeout(20) })
        .catch((error: unknown) => {
          if (!(error instanceof DOMException)) throw error;
        });
    }
  },

  "exec-server transport disconnected: failed to serialize JSON-RPC message for …: …": async () => {
    const [host] = await fakeHost();
    return host.request("environment/info", { n: 1n } as unknown as Record<string, never>);
  },

  "exec-server notification handling failed: …": async () => {
    const server = new FakeServer();
    const host = await connect(await server.open());
    cleanups.push(() => host.close());
    server.answers.set("environment/info", (_params, connection) => {
      connection.notify("process/exited", { processId: "p", seq: 1, exitCode: "zero" });
      return {};
    });
    return host.request("environment/info", {});
  },

  "failed to serialize or deserialize exec-server JSON: …": async () => {
    const [host] = await fakeHost((server) => server.answers.set("environment/info", () => ({ shell: 5 })));
    return host.request("environment/info", {});
  },

  "exec-server protocol error: …": async () => {
    const [host] = await fakeHost((server) =>
      server.answers.set("http/request", ({ requestId }, connection) => {
        connection.notify("http/request/bodyDelta", { requestId, seq: 2, deltaBase64: "", done: false });
        return { status: 200, headers: [], bodyBase64: "" };
      }),
    );
    const response = await host.fetch("http://127.0.0.1/");
    return response.text().catch((error: unknown) => {
      throw (error as Error).cause;
    });
  },

  "exec-server protocol error: session already registered for process …": async () => {
    const [host] = await fakeHost();
    await host.start(["any"], { processId: "p" });
    return host.start(["any"], { processId: "p" });
  },

  "exec-server rejected request (…): …": async () => {
    const [host] = await fakeHost((server) =>
      server.answers.set("environment/info", () => new Refusal(-32603, "not today")),
    );
    return host.request("environment/info", {}).catch((error: unknown) => {
      expect(error).toMatchObject({ rpcCode: -32603, message: "not today" });
      throw error;
    });
  },

  "environment registry request failed (…): …": () => fromRegistry(404, { code: "unknown", message: "no" }),

  "environment registry authentication error: …": () =>
    fromRegistry(403, { code: "forbidden", message: "no" }),

  "environment registry configuration error: …": () => connect({ relay: "ftp://host", environmentId: "e" }),

  "environment registry request failed: …": async () =>
    connect({ relay: `http://127.0.0.1:${await closedPort()}`, environmentId: "e" }),

  "HTTP request failed: …": async () => {
    const server = await serve();
    cleanups.push(() => server.close());
    const host = await connect(server.url);
    cleanups.push(() => host.close());
    return host.fetch(`http://127.0.0.1:${await closedPort()}/`).catch((error: unknown) => {
      expect(error).toBeInstanceOf(TypeError);
      throw (error as Error).cause;
    });
  },
};

test("the guide has a row for each message that is provoked here, and no other", () => {
  expect(rows.map(({ codex }) => codex).toSorted()).toEqual(Object.keys(provoked).toSorted());
});

describe("the guide says what becomes of", () => {
  test.each(rows.map((row) => [row.codex, row] as const))("%s", async (codex, { name, code, message }) => {
    const failure = provoked[codex]!();
    await expect(inTime(failure, "the failure")).rejects.toMatchObject({
      name,
      code,
      message: expect.stringMatching(message),
    });
  });
});
