import { openLink } from "../../../test/fixtures/open-link.ts";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { ConnectionError, RpcError } from "../../base/errors.ts";
import { methods, notifications } from "../../protocol/index.ts";
import type { Link } from "../../rpc/link.ts";
import { createServer, type Server } from "../../server/serve/server.ts";
import type { ServerOptions } from "../../server/settings/server-options.ts";

const DEADLINE_MS = 20_000;
const MEBIBYTE = 1024 * 1024;

interface Notified {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** A client that records what it receives, in order. */
class Witness {
  readonly notifications: Notified[] = [];
  readonly ends: (string | undefined)[] = [];
  readonly #waiters = new Set<() => void>();

  readonly events = {
    notification: (method: string, params: unknown): void => {
      notifications[method as keyof typeof notifications].params.parse(params);
      this.notifications.push({ method, params: params as Notified["params"] });
      this.#changed();
    },
    closed: (reason?: string): void => {
      this.ends.push(reason);
      this.#changed();
    },
  };

  async until(reached: () => boolean): Promise<void> {
    if (reached()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("deadline")), DEADLINE_MS);
      const check = (): void => {
        if (!reached()) return;
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve();
      };
      this.#waiters.add(check);
    });
  }

  of(processId: string): Notified[] {
    return this.notifications.filter(({ params }) => params["processId"] === processId);
  }

  async closedOf(processId: string): Promise<void> {
    await this.until(() => this.of(processId).some(({ method }) => method === "process/closed"));
  }

  output(processId: string): Buffer {
    const chunks = this.of(processId).filter(({ method }) => method === "process/output");
    return Buffer.concat(chunks.map(({ params }) => Buffer.from(String(params["chunk"]), "base64")));
  }

  #changed(): void {
    for (const check of this.#waiters) check();
  }
}

let server: Server | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function connect(options?: ServerOptions): Promise<{ link: Link; witness: Witness }> {
  server ??= createServer(options);
  const witness = new Witness();
  const link = openLink(server, witness.events);
  await link.request("initialize", { clientName: "test" });
  link.notify("initialized", null);
  return { link, witness };
}

function startParams(processId: string, argv: string[]) {
  return { processId, argv, cwd: pathToFileURL(tmpdir()).href, env: { PATH: "/usr/bin:/bin" }, tty: false };
}

test("a process runs, and its events and answers are values of the wire", async () => {
  const { link, witness } = await connect();
  const started = await link.request("process/start", startParams("p", ["sh", "-c", "echo hello; exit 3"]));
  expect(methods["process/start"].result.parse(started)).toEqual({ processId: "p", sandboxType: "none" });
  await witness.closedOf("p");
  expect(witness.output("p").toString()).toBe("hello\n");
  expect(witness.of("p").find(({ method }) => method === "process/exited")?.params["exitCode"]).toBe(3);
  expect(await link.request("process/read", { processId: "p" })).toMatchObject({
    chunks: [{ seq: 1, stream: "stdout", chunk: "aGVsbG8K" }],
    exited: true,
    exitCode: 3,
  });
});

test("an answer in parts arrives whole", async () => {
  const directory = mkdtempSync(join(tmpdir(), "link-"));
  try {
    const bytes = Buffer.alloc(9 * MEBIBYTE, "pattern ");
    const path = join(directory, "large");
    writeFileSync(path, bytes);
    const { link } = await connect();
    const read = (await link.request("fs/readFile", { path: pathToFileURL(path).href })) as {
      dataBase64: string;
    };
    expect(Buffer.from(read.dataBase64, "base64").equals(bytes)).toBe(true);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a paused client stops the process, and gets every byte after it resumes", async () => {
  const directory = mkdtempSync(join(tmpdir(), "link-"));
  try {
    const done = join(directory, "done");
    const { link, witness } = await connect();
    link.pause();
    const script = `head -c ${2 * MEBIBYTE} /dev/zero; touch ${done}`;
    const started = link.request("process/start", startParams("p", ["sh", "-c", script]));
    // A second client of the same server is served meanwhile. Its process does eight times that work, so the first had the time.
    const other = await connect();
    await other.link.request(
      "process/start",
      startParams("q", ["sh", "-c", `head -c ${16 * MEBIBYTE} /dev/zero`]),
    );
    await other.witness.closedOf("q");
    expect(other.witness.output("q").length).toBe(16 * MEBIBYTE);
    expect(witness.notifications).toEqual([]);
    expect(existsSync(done)).toBe(false);
    link.resume();
    await started;
    await witness.closedOf("p");
    expect(witness.output("p").equals(Buffer.alloc(2 * MEBIBYTE))).toBe(true);
    expect(existsSync(done)).toBe(true);
    const seqs = witness.of("p").map(({ params }) => params["seq"]);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("pausing inside a notification holds the next one", async () => {
  server = createServer();
  const witness = new Witness();
  const link: Link = openLink(server, {
    closed: witness.events.closed,
    notification: (method, params) => {
      witness.events.notification(method, params);
      link.pause();
    },
  });
  await link.request("initialize", { clientName: "test" });
  link.notify("initialized", null);
  await link.request("process/start", startParams("p", ["sh", "-c", "echo a"]));
  for (let count = 1; count <= 3; count += 1) {
    await witness.until(() => witness.notifications.length >= count);
    expect(witness.notifications.length).toBe(count);
    link.resume();
  }
});

test("errors have the codes of the wire", async () => {
  const { link } = await connect();
  const failures = await Promise.all(
    [
      link.request("no/such", {}),
      link.request("process/start", { processId: "p" }),
      link.request("process/read", { processId: "nobody" }),
      link.request("process/start", startParams("p", ["no-such-program"])),
      link.request("fs/getMetadata", { path: "file:///no/such/file" }),
      link.request("initialize", { clientName: "again" }),
    ].map((answer) =>
      answer.then(
        () => undefined,
        (error: unknown) => error,
      ),
    ),
  );
  expect(failures.every((error) => error instanceof RpcError)).toBe(true);
  expect(failures.map((error) => (error as RpcError).rpcCode)).toEqual([
    -32601, -32602, -32600, -32603, -32004, -32600,
  ]);
  expect((failures[4] as RpcError).data).toEqual({ code: "NOT_FOUND", errno: "ENOENT" });
});

test("nothing is served before the handshake", async () => {
  server = createServer();
  const link = openLink(server, new Witness().events);
  await expect(link.request("process/read", { processId: "p" })).rejects.toMatchObject({
    rpcCode: -32600,
    message: "client must call initialize before using exec methods",
  });
});

test("an unexpected notification ends the link, as it ends a connection", async () => {
  const { link, witness } = await connect();
  link.notify("no/such", {});
  await witness.until(() => witness.ends.length > 0);
  expect(witness.ends).toEqual([undefined]);
  await expect(link.request("environment/status", null)).rejects.toBeInstanceOf(ConnectionError);
});

test("closing ends the session and kills its processes, after what was asked before", async () => {
  const { link, witness } = await connect();
  await link.request("process/start", startParams("p", ["sh", "-c", "echo $$; exec sleep 1000"]));
  await witness.until(() => witness.output("p").length > 0);
  const pid = Number(witness.output("p").toString());
  const asked = link.request("process/write", { processId: "p", chunk: "", writeId: "1" });
  link.close();
  const late = link.request("environment/status", null);
  await expect(asked).resolves.toEqual({ status: "stdinClosed" });
  await expect(late).rejects.toBeInstanceOf(ConnectionError);
  await witness.until(() => witness.ends.length > 0);
  expect(witness.ends).toEqual([undefined]);
  await vi.waitUntil(() => !existsSync(`/proc/${pid}`), { timeout: DEADLINE_MS, interval: 5 });
});

test("destroying reports the end once, and rejects what is unanswered", async () => {
  const { link, witness } = await connect();
  await link.request("process/start", startParams("p", ["sleep", "1000"]));
  const waiting = link.request("process/read", { processId: "p", waitMs: 60_000 });
  link.pause();
  link.destroy("enough");
  link.destroy("again");
  await expect(waiting).rejects.toThrow("exec-server transport disconnected: enough");
  await server?.close();
  expect(witness.ends).toEqual(["enough"]);
  expect(witness.notifications).toEqual([]);
});

test("a server that closes reports the ends of processes before its own", async () => {
  const { link, witness } = await connect();
  await link.request("process/start", startParams("p", ["sleep", "1000"]));
  await server?.close();
  await witness.until(() => witness.ends.length > 0);
  expect(witness.of("p").map(({ method }) => method)).toEqual(["process/exited", "process/closed"]);
});

test("a closing server refuses a link", async () => {
  server = createServer();
  await server.close();
  const witness = new Witness();
  const link = openLink(server, witness.events);
  await expect(link.request("initialize", { clientName: "late" })).rejects.toThrow("the server is closing");
  expect(witness.ends).toEqual(["the server is closing"]);
});

test("neither side sees what the other does to an object afterwards", async () => {
  const { link, witness } = await connect();
  const params = startParams("p", ["sh", "-c", "echo $0", "before"]);
  const started = link.request("process/start", params);
  params.argv[3] = "after";
  await started;
  await witness.closedOf("p");
  expect(witness.output("p").toString()).toBe("before\n");
  const first = (await link.request("environment/info", null)) as { extensions: string[]; cwd: string };
  first.cwd = "elsewhere";
  first.extensions.push("more");
  const second = (await link.request("environment/info", null)) as typeof first;
  expect(second.cwd).not.toBe("elsewhere");
  expect(second.extensions).not.toContain("more");
});

test("a server that allows it lists the processes of all sessions", async () => {
  const one = await connect({ limits: { allowServerScope: true } });
  const other = await connect();
  await one.link.request("process/start", startParams("p", ["sleep", "1000"]));
  await other.link.request("process/start", startParams("q", ["sleep", "1000"]));
  const all = await other.link.request("process/list", { scope: "server" });
  const { processes } = methods["process/list"].result.parse(all);
  expect(processes.map(({ processId, own }) => [processId, own])).toEqual([
    ["p", false],
    ["q", true],
  ]);
});
