import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { type Ended, runCommand } from "./command.ts";

// `exec-server run -d`: processes that stay when the command has ended.

let server: ServerUnderTest;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const detach = (...args: readonly string[]): Promise<Ended> =>
  runCommand(["run", "-d", "--url", server.url, ...args]);

describe.concurrent("run -d", () => {
  test("prints the name of a process that keeps running", async () => {
    expect(await detach("--name", "one", "cat")).toMatchObject({ status: 0, stdout: "one\n", stderr: "" });
    await using host = await connect(server.url);
    const kept = await host.processes({ scope: "kept" });
    expect(kept.find(({ name }) => name === "one")).toMatchObject({ argv: ["cat"] });
  });

  test("leaves stdin open with -i", async () => {
    await detach("-i", "--name", "listener", "cat");
    await using host = await connect(server.url);
    const process = await host.attachKept("listener", { mode: "control" });
    await process.write("hello\n");
    await process.closeStdin();
    expect((await process.communicate()).stdout).toBe("hello\n");
  });

  test("names a process after its program, with a number if that is taken", async () => {
    const names = [];
    for (let count = 0; count < 3; count += 1) names.push((await detach("/bin/sleep", "60")).stdout);
    expect(names).toEqual(["sleep\n", "sleep-2\n", "sleep-3\n"]);
  });

  test("takes the place of a process that has ended, never of one that runs", async () => {
    await detach("--name", "again", "sleep", "60");
    expect(await detach("--name", "again", "true")).toMatchObject({
      status: 255,
      stderr:
        "exec-server: a process called again is running; 'exec-server kill again' ends it, or choose another --name\n",
    });
    await using host = await connect(server.url);
    const process = await host.attachKept("again", { mode: "control" });
    await process.kill();
    await process.closed;
    expect((await detach("--name", "again", "true")).status).toBe(0);
  });

  test("says what was wrong with the start, and keeps nothing", async () => {
    expect(await detach("--name", "missing", "no-such-program")).toMatchObject({
      status: 127,
      stderr: "exec-server: no-such-program: command not found\n",
    });
    await using host = await connect(server.url);
    expect((await host.processes({ scope: "kept" })).map(({ name }) => name)).not.toContain("missing");
  });

  test("refuses a name that cannot be one, and a name without -d", async () => {
    expect(await detach("--name", "../x", "true")).toMatchObject({
      status: 2,
      stderr:
        "exec-server: '../x' cannot be the name of a process; use up to 128 letters, digits, '_', '.' and '-'\n",
    });
    const { status, stderr } = await runCommand(["run", "--url", server.url, "--name", "x", "true"]);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "exec-server: --name needs -d\n",
    });
  });
});
