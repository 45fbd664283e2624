import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { serve } from "../../src/server/index.ts";
import { withDeadline } from "../fault/deadline.ts";
import { packageRoot } from "../fault/server-under-test.ts";

const DEADLINE_MS = 30_000;
const LIBRARY = pathToFileURL(join(packageRoot, "dist/lib/server/index.js")).href;

/** The command of a program that serves its stdin and stdout, and then does what `then` says. */
const program = (then: string): [string, ...string[]] => [
  process.execPath,
  "--input-type=module",
  "--eval",
  `import { serve } from ${JSON.stringify(LIBRARY)};
const server = await serve({ listen: "stdio", environment: process.env });
${then}`,
];

test("a program serves its stdin and stdout, and ends by itself when its client has left", async () => {
  const [command, ...args] = program(
    "process.stderr.write(server.url); await server.closed; process.stderr.write(' closed');",
  );
  const child = spawn(command, args);
  onTestFinished(() => void child.kill("SIGKILL"));
  const complaints = text(child.stderr);
  const exited = once(child, "exit");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const params = {
    processId: "p",
    argv: ["sleep", "600"],
    cwd: "file:///",
    env: {},
    tty: false,
    tellPid: true,
  };
  for (const message of [
    { id: 1, method: "initialize", params: { clientName: "test" } },
    { method: "initialized" },
    { id: 2, method: "process/start", params },
  ])
    child.stdin.write(`${JSON.stringify(message)}\n`);
  const answer = async () =>
    JSON.parse((await withDeadline(lines.next(), DEADLINE_MS, () => "the next answer")).value);
  expect(await answer()).toMatchObject({ id: 1, result: {} });
  const { pid } = (await answer()).result;
  process.kill(pid, 0);
  child.stdin.end();
  const end = await withDeadline(exited, DEADLINE_MS, () => "the end of the program");
  expect(end).toEqual([0, null]);
  expect(await complaints).toBe("stdio closed");
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("a client gets from it what it gets from the command line's server", async () => {
  await using host = await connect({ command: program("await server.closed;") });
  expect(await host.run(["cat"], { input: "a line\n" })).toMatchObject({ stdout: "a line\n", exitCode: 0 });
});

test("stdin and stdout are served once", async () => {
  const again = `await serve({ listen: "stdio" }).catch((error) => process.stderr.write(error.code + " " + error.message));
await server.close();`;
  const [command, ...args] = program(again);
  const child = spawn(command, args);
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  expect(await withDeadline(text(child.stderr), DEADLINE_MS, () => "the refusal")).toBe(
    "USAGE stdin and stdout of this program already carry a connection",
  );
  child.stdin.end();
  expect(await withDeadline(exited, DEADLINE_MS, () => "the end of the program")).toEqual([0, null]);
});

test("stdio takes no authentication, no fleet and no certificate", async () => {
  const authentication = { mode: "capability-token", tokenSha256: Buffer.alloc(32) } as const;
  const fleet = { servers: "nats://127.0.0.1:1", id: "one" };
  const tls = { cert: "/missing", key: "/missing" };
  for (const options of [{ authentication }, { fleet, insecureNoAuth: true }, { tls }])
    await expect(serve({ listen: "stdio", ...options })).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("stdio"),
    });
});
