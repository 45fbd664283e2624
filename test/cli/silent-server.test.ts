import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { runCommand, startCommand } from "./command.ts";

type Answer = (params: Record<string, unknown>) => unknown;

const EXTENSIONS = [
  "process/start.keep",
  "process/start.timeoutMs",
  "process/start.idempotencyKey",
  "process/detach.forget",
  "process/terminate.mode",
  "process/signal.signal",
  "process/closeStdin",
  "process/list",
  "process/wait",
  "process/snapshot",
  "process/times",
  "server/status",
  "fs/open.stat",
];

/** A server that admits everyone, and answers only what it is scripted to. */
async function serve(answers: Readonly<Record<string, Answer>> = {}) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const environmentInfo = {
    shell: { name: "sh", path: "/bin/sh" },
    cwd: "file:///",
    extensions: EXTENSIONS,
    serverVersion: "9.9.9",
  };
  const all: Record<string, Answer> = { initialize: () => ({ sessionId: "s", environmentInfo }), ...answers };
  server.on("connection", (socket) =>
    socket.on("message", (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as {
        id?: number;
        method: string;
        params: Record<string, unknown>;
      };
      const result = all[method]?.(params);
      if (id !== undefined && result !== undefined) socket.send(JSON.stringify({ id, result }));
    }),
  );
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

const silence = (method: string): string =>
  `exec-server: the server has not answered ${method} within 30s; it hangs, or something on the way drops its answers\n`;

it.concurrent("no command waits longer than half a minute for a server that does not answer", async () => {
  await using server = await serve();
  const directory = await mkdtemp("/var/tmp/exec-server-silent-");
  try {
    await writeFile(join(directory, "rows.csv"), "n\n1\n");
    const cases: [readonly string[], number, string][] = [
      [["ps"], 1, "process/list"],
      [["status"], 1, "server/status"],
      [["logs", "x"], 1, "process/attach"],
      [["kill", "x"], 1, "process/attach"],
      [["wait", "x"], 255, "process/attach"],
      [["attach", "x"], 255, "process/list"],
      [["run", "-n", "--", "true"], 255, "process/start"],
      [["run", "-d", "--", "true"], 255, "process/start"],
      [["ls", ":/"], 1, "fs/readDirectory"],
      [["cp", "-q", ":/a", "b"], 1, "fs/getMetadata"],
    ];
    const ended = await Promise.all(
      cases.map(([[command, ...args]]) =>
        runCommand([command!, "--url", server.url, ...args], { cwd: directory }),
      ),
    );
    expect(ended.map(({ status, stderr }, index) => [cases[index]![0], status, stderr])).toEqual(
      cases.map(([args, status, method]) => [args, status, silence(method)]),
    );
  } finally {
    await rm(directory, { recursive: true });
  }
});

const RUNNING = {
  chunks: [],
  nextSeq: 1,
  exited: false,
  exitCode: null,
  closed: false,
  failure: null,
  sandboxDenied: false,
};
/** A server on which a command runs forever, whatever happens to it. */
const endless = {
  "process/start": ({ processId }: Record<string, unknown>) => ({ processId, sandboxType: "none" }),
  "process/read": () => RUNNING,
  "process/signal": () => ({}),
  "process/terminate": () => ({ running: true }),
};

it.concurrent("--timeout ends a run whose server never reports the end", async () => {
  await using server = await serve(endless);
  const ended = await runCommand(["run", "--url", server.url, "-n", "--timeout", "1s", "--", "true"]);
  expect(ended).toMatchObject({
    status: 255,
    stderr: "exec-server: the command should have ended after 1s, but the server says it is still running\n",
  });
});

it.concurrent("--timeout ends a run whose server hides the end, with the status of the command", async () => {
  const read = {
    ...RUNNING,
    exited: true,
    closed: true,
    exitCode: 143,
    nextSeq: 3,
    exit: { timedOut: true },
  };
  await using server = await serve({ ...endless, "process/read": () => read });
  const ended = await runCommand(["run", "--url", server.url, "-n", "--timeout", "1s", "--", "true"]);
  expect(ended).toMatchObject({
    status: 124,
    stderr: "exec-server: the command has ended, but the server did not report it\n",
  });
});

it.concurrent("one Ctrl-C ends a run whose server does not report the end, and does not answer", async () => {
  const { "process/start": start } = endless;
  await using server = await serve({ "process/start": start });
  const running = startCommand(["run", "--debug", "--url", server.url, "-n", "--", "true"]);
  await running.complains('"result":{"processId"');
  running.child.kill("SIGINT");
  const { signal, stderr } = await running.ended();
  expect(signal).toBe("SIGINT");
  expect(stderr).toContain("the server does not report the end of the command, and does not answer\n");
});

it.concurrent("a command that does not follow Ctrl-C is given up by another one", async () => {
  await using server = await serve(endless);
  const running = startCommand(["run", "--debug", "--url", server.url, "-n", "--", "true"]);
  await running.complains('"result":{"processId"');
  running.child.kill("SIGINT");
  await running.complains("the command still runs 10s after SIGINT; press Ctrl-C again to abandon it\n");
  running.child.kill("SIGINT");
  const { signal, stderr } = await running.ended();
  expect(signal).toBe("SIGINT");
  expect(stderr).toContain("interrupted twice, so the command was abandoned");
});
