import { mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { once } from "node:events";
import { expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { startCommand } from "./command.ts";
import { Person } from "./person.ts";

it("status says where commands run, and starts nothing", async () => {
  await using person = new Person();
  const idle = await person.run(["status"]);
  expect(idle).toMatchObject({ status: 0, stderr: "" });
  expect(idle.stdout).toContain("not running; the next command starts it");
  expect(readdirSync(person.runtime)).toEqual([]);
  // Neither does anything else that only looks for kept processes.
  expect(await person.run(["ps"])).toMatchObject({ status: 0, stdout: "" });
  expect(await person.run(["ps", "--json"])).toMatchObject({ status: 0, stdout: "[]\n", stderr: "" });
  for (const [command, status] of [
    ["logs", 1],
    ["wait", 255],
    ["kill", 1],
    ["attach", 255],
  ] as const)
    expect(await person.run([command, "x"])).toMatchObject({
      status,
      stdout: "",
      stderr: "exec-server: there is no kept process 'x': your own server is not running\n",
    });
  expect(readdirSync(person.runtime)).toEqual([]);
  await person.run(["run", "--", "true"]);
  const { pid } = await person.server();
  const busy = await person.run(["status", "--json"]);
  expect(JSON.parse(busy.stdout)).toMatchObject({
    kind: "own",
    place: person.socket,
    running: true,
    version: expect.stringMatching(/^\d/) as string,
    pid,
    runningProcesses: 0,
    connections: 0,
  });
});

it("stop refuses while something runs, and ends everything with --force", async () => {
  await using person = new Person();
  expect(await person.run(["stop"])).toMatchObject({ status: 0, stdout: "not running\n" });
  const running = startCommand(["run", "--", "sh", "-c", "echo up; exec sleep 100"], { env: person.env });
  await running.shows("up");
  expect(await person.run(["stop"])).toMatchObject({
    status: 1,
    stdout: "",
    stderr: "exec-server: a process still runs: see 'exec-server ps', or use --force to end everything\n",
  });
  const { pid } = await person.server();
  expect(await person.run(["stop", "--force"])).toMatchObject({
    status: 0,
    stdout: `stopped (pid ${pid})\n`,
  });
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect((await running.ended()).status).not.toBe(0);
  expect(await person.run(["run", "--", "echo", "again"])).toMatchObject({ status: 0, stdout: "again\n" });
});

it("stop is for the own server alone", async () => {
  await using person = new Person();
  const ended = await person.run(["stop"], { env: { EXEC_SERVER_URL: "ws://127.0.0.1:1" } });
  expect(ended).toMatchObject({ status: 2, stdout: "" });
});

it("an older server still serves, and what it lacks is said with the remedy", async () => {
  await using person = new Person();
  mkdirSync(dirname(person.socket), { mode: 0o700 });
  const http = createServer();
  new WebSocketServer({ server: http }).on("connection", (socket) =>
    socket.on("message", (data: Buffer) => {
      const { id, method } = JSON.parse(data.toString()) as { id?: number; method: string };
      const environmentInfo = {
        shell: { name: "sh", path: "/bin/sh" },
        extensions: [],
        serverVersion: "0.0.9",
      };
      if (method === "initialize")
        socket.send(JSON.stringify({ id, result: { sessionId: "s", environmentInfo } }));
    }),
  );
  http.listen(person.socket);
  await once(http, "listening");
  try {
    expect((await person.run(["status"])).stdout).toContain("exec-server 0.0.9");
    expect(await person.run(["run", "-d", "--", "true"])).toMatchObject({
      status: 255,
      stderr:
        "exec-server: the running server is older (version 0.0.9) and lacks process/start.keep: 'exec-server ps' shows what still runs, 'exec-server stop' ends the server, and the next command starts a new one\n",
    });
  } finally {
    http.closeAllConnections();
    http.close();
  }
});
