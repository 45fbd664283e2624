import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { findDeceiving } from "../../src/base/visible-text.ts";
import { runCommand } from "./command.ts";

// A server that gives its kept processes names that no server of ours would accept.

const NAMES = [
  "plain",
  "t$(touch pwned)",
  "`id`",
  "-rf",
  "a b",
  "\u001b[31mred\nline",
  "\u009b31m\u202ered",
  "long".repeat(100),
];

let server: WebSocketServer;
let url: string;

const listed = (name: string) => ({
  processId: name,
  name,
  own: false,
  pid: 1,
  argv: ["sh"],
  cwd: "file:///",
  label: null,
  tty: false,
  startedAtMs: 1,
  state: "running",
  exitCode: null,
  outputBytes: 0,
  retainedBytes: 0,
});

const RESULTS: Readonly<Record<string, unknown>> = {
  initialize: {
    sessionId: "s",
    environmentInfo: {
      shell: { name: "sh", path: "/bin/sh" },
      extensions: ["process/list", "process/start.keep", "process/attach"],
    },
  },
  "process/list": { processes: NAMES.map(listed) },
  "fs/readDirectory": {
    entries: NAMES.map((fileName) => ({ fileName, isDirectory: false, isFile: true })),
  },
};

beforeAll(async () => {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (socket) =>
    socket.on("message", (data: Buffer) => {
      const { id, method } = JSON.parse(data.toString()) as { id?: number; method: string };
      if (id !== undefined) socket.send(JSON.stringify({ id, result: RESULTS[method] ?? {} }));
    }),
  );
  await once(server, "listening");
  url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

test("Completion offers no name that a shell could take for more than a word", async () => {
  const ask = async (): Promise<string> =>
    (await runCommand(["complete", "--", "--url", url, "attach", ""])).stdout;
  await expect.poll(ask, { timeout: 60_000 }).toBe("plain\t\n");
});

test.each([
  [":/", [":/-rf", ":/plain"]],
  ["/", ["/-rf", "/plain"]],
  [":", [":-rf", ":plain"]],
  // A dash alone could be an option.
  ["", ["plain"]],
])("Completion of the path '%s' offers %j", async (typed, expected) => {
  const offered = async (): Promise<string[]> => {
    const { stdout } = await runCommand(["complete", "--", "--url", url, "cat", typed]);
    const words = stdout.split("\n").map((line) => line.split("\t")[0]!);
    return words.filter((word) => word !== "" && word !== "local:");
  };
  // On a busy machine the server may be too late.
  await expect.poll(offered, { timeout: 60_000 }).toEqual(expected);
});

test("ps prints nothing that a terminal would carry out, and one line for each name", async () => {
  const { status, stdout } = await runCommand(["ps", "--quiet", "--url", url]);
  expect(status).toBe(0);
  expect(stdout).not.toContain("\u001b");
  expect(stdout.trimEnd().split("\n")).toHaveLength(NAMES.length);
  const table = await runCommand(["ps", "--url", url]);
  expect(table.stdout).not.toContain("\u001b");
  expect(table.stdout.trimEnd().split("\n")).toHaveLength(NAMES.length + 1);
});

test("--debug shows messages as JSON, and nothing that a terminal would carry out", async () => {
  const { status, stderr } = await runCommand(["ls", "--debug", "--url", url, ":/"]);
  expect([status, findDeceiving(stderr.replaceAll("\n", ""))]).toEqual([0, -1]);
  const answer = stderr.split("\n").find((line) => line.startsWith("<--") && line.includes("entries"))!;
  expect(JSON.parse(answer.slice("<-- ".length))).toMatchObject({ result: RESULTS["fs/readDirectory"] });
});
