import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { browse } from "../access/console-browser.ts";
import { startCommand } from "./command.ts";
import { type FleetDesk, openFleetDesk, TOKEN } from "./fleet-desk.ts";

let desk: FleetDesk;
beforeAll(async () => {
  desk = await openFleetDesk();
  await Promise.all([desk.join("web-1", { zone: "eu", gpu: "yes" }), desk.join("web-2", { zone: "us" })]);
});
afterAll(() => desk[Symbol.asyncDispose]());

const run: FleetDesk["person"]["run"] = (args, options) => desk.person.run(args, options);

test("a command runs on an executor of a fleet", async () => {
  const served = { status: 3, stdout: "out\n", stderr: "" };
  const command = ["run", "--", "sh", "-c", "echo out; exit 3"];
  expect(await run(["-H", "prod/web-1", ...command])).toMatchObject(served);
  expect(await run(command, { env: { EXEC_SERVER_HOST: "prod/web-2" } })).toMatchObject(served);
  const status = await run(["-H", "prod/web-1", "status", "--json"]);
  expect(JSON.parse(status.stdout)).toMatchObject({
    kind: "executor",
    name: "prod/web-1",
    place: desk.nats.url,
    running: true,
    version: "1.2.3",
  });
  expect((await run(["-H", "prod/web-1", "status"])).stdout).toMatch(
    /^commands run on {2}the executor 'prod\/web-1'\nfleet {12}nats:/,
  );
  // A token of the environment is for a URL alone.
  const elsewhere = { env: { EXEC_SERVER_TOKEN: "another" } };
  expect(await run(["-H", "prod/web-1", ...command], elsewhere)).toMatchObject(served);
  const kept = ["run", "-d", "--name", "job", "--", "echo", "kept"];
  expect(await run(["-H", "prod/web-2", ...kept])).toMatchObject({ status: 0 });
  expect(await run(["-H", "prod/web-2", "logs", "job"])).toMatchObject({ stdout: "kept\n" });
  expect(await run(["-H", "prod/web-2", "wait", "job"])).toMatchObject({ status: 0 });
});

test("paths name executors as hosts, and a directory of that name is written with ./", async () => {
  const { home } = desk.person;
  const there = join(home, "there");
  mkdirSync(there);
  writeFileSync(join(home, "file"), "content\n");
  expect(await run(["cp", "file", `prod/web-1:${there}/copy`])).toMatchObject({ status: 0 });
  expect(readFileSync(join(there, "copy"), "utf8")).toBe("content\n");
  expect(await run(["cat", `prod/web-2:${there}/copy`])).toMatchObject({ status: 0, stdout: "content\n" });
  expect(await run(["ls", `prod/web-1:${there}`])).toMatchObject({ stdout: expect.stringContaining("copy") });
  expect(await run(["sync", there, `prod/web-1:${home}/synced`])).toMatchObject({ status: 0 });
  expect(readFileSync(join(home, "synced/copy"), "utf8")).toBe("content\n");
  // What is not the name of a fleet stays a name of this machine, as ever.
  mkdirSync(join(home, "prod"));
  mkdirSync(join(home, "other"));
  for (const [path, written] of [
    ["other/a:b", "other/a:b"],
    ["prod/a:b", "./prod/a:b"],
  ] as const) {
    writeFileSync(join(home, path), "here\n");
    expect(await run(["cp", written, `prod/web-1:${there}/colon`])).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(there, "colon"), "utf8")).toBe("here\n");
  }
});

test("a bridge carries the messages of an executor", async () => {
  const bridge = startCommand(["bridge", "--stdio", "-H", "prod/web-1"], { env: desk.person.env });
  bridge.child.stdin!.write(
    `${JSON.stringify({ id: 1, method: "initialize", params: { clientName: "x" } })}\n`,
  );
  await bridge.shows('"sessionId"');
  bridge.child.stdin!.end();
  expect(await bridge.ended()).toMatchObject({ status: 0, stderr: "" });
});

test("open serves the page of an executor on this machine", async () => {
  const opened = startCommand(["-H", "prod/web-1", "open", "--print"], { env: desk.person.env });
  await opened.shows("http://127.0.0.1:");
  const page = await browse(new URL(opened.stdout.trim()).origin, "/", { headers: { accept: "text/html" } });
  expect(page.headers).toHaveProperty("content-security-policy");
  opened.child.kill("SIGINT");
  expect(await opened.ended()).toMatchObject({ status: 0 });
});

test("each mistake about fleets is one line with a remedy", async () => {
  const { nats, hosts, prod } = desk;
  const token = join(desk.person.home, "wrong-token");
  writeFileSync(token, "wrong", { mode: 0o600 });
  const [own, usage] = [255, 2];
  const at = (name: string): string => `fleet '${name}' at`;
  desk.write(`${prod}
[fleets.away]
servers = ["nats://127.0.0.1:1"]
[fleets.foreign]
servers = "${nats.url}"
user = "anna"
password = "wrong"
[fleets.eve]
servers = "${nats.url}"
user = "eve"
password = "v"
inbox = "eve"
[fleets.odd]
servers = "http://nats"
[fleets.port]
servers = "nats://127.0.0.1:99999"
[fleets.lost]
servers = "${nats.url}"
nkey = "none.nk"
[fleets.empty]
servers = "${nats.url}"
credentials = "empty"
[fleets.plain]
servers = "${nats.url.replace("nats:", "tls:")}"
`);
  const empty = join(dirname(hosts), "empty");
  writeFileSync(empty, "", { mode: 0o600 });
  const mistakes: [string[], number, string][] = [
    [
      ["-H", "nope/web-1"],
      usage,
      "there is no fleet 'nope'; known fleets: prod, away, foreign, eve, port, lost, empty, plain",
    ],
    [
      ["-H", "prod/web-9"],
      own,
      "no executor 'web-9' is connected to the fleet 'prod'; connected: web-1, web-2",
    ],
    [
      ["-H", "prod"],
      usage,
      "'prod' is a fleet: name one of its executors, as in 'prod/NAME'; 'exec-server fleet ls prod' lists them",
    ],
    [["-H", "prod/"], usage, "'prod/' is not an executor; write FLEET/NAME"],
    [["-H", "prod/a/b"], usage, "'prod/a/b' is not an executor; write FLEET/NAME"],
    [
      ["-H", "prod/a.b"],
      usage,
      'invalid executor name "a.b"; expected up to 64 letters, digits, - and _, the first a letter or digit',
    ],
    [
      ["-H", "away/x"],
      own,
      `${at("away")} nats://127.0.0.1:1: failed to connect to NATS: connection refused; is NATS running there?`,
    ],
    [
      ["-H", "foreign/x"],
      own,
      `${at("foreign")} ${nats.url}: failed to connect to NATS: it refused the login (Authorization Violation); check what [fleets.foreign] of hosts.toml logs in with`,
    ],
    [
      ["-H", "eve/web-2"],
      own,
      `${at("eve")} ${nats.url}: failed to connect to executor web-2: NATS does not permit this client to use the subject exec.web-2.dial; the permissions of its user in the configuration of NATS decide about that`,
    ],
    [
      ["-H", "odd/x"],
      own,
      `${hosts}: fleet 'odd' cannot be used: 'servers' must be nats://HOST:PORT or tls://HOST:PORT, or an array of them`,
    ],
    [
      ["-H", "port/x"],
      usage,
      'invalid fleet server "nats://127.0.0.1:99999"; expected nats://HOST:PORT or tls://HOST:PORT',
    ],
    [
      ["-H", "lost/x"],
      usage,
      `cannot read the nkey of the fleet in ${join(dirname(hosts), "none.nk")}: ENOENT: no such file or directory`,
    ],
    [
      ["-H", "empty/x"],
      usage,
      `cannot log in to the fleet with the file ${empty}: unable to parse credentials`,
    ],
    [
      ["-H", "plain/x"],
      own,
      `${at("plain")} ${nats.url.replace("nats:", "tls:")}: failed to connect to NATS: the server does not speak TLS; connect with nats:// only if it is meant to run without TLS`,
    ],
    [
      ["-H", "prod/web-1", "--ca", "/ca"],
      usage,
      "--ca is for a server with a URL; for a fleet, write it into hosts.toml",
    ],
    [
      ["-H", "prod/web-1", "--token-file", token],
      own,
      "failed to connect to executor web-1: invalid websocket bearer token; set the token of its server as auth_bearer_token of [fleets.prod] in hosts.toml, or with --token-file",
    ],
  ];
  for (const [where, status, line] of mistakes)
    expect(await run([...where, "run", "true"])).toMatchObject({
      status,
      stdout: "",
      stderr: `exec-server: ${line}\n`,
    });
});

test("a token that is no longer accepted while a command runs is told with the place where it belongs", async () => {
  desk.write(desk.prod);
  await desk.join("web-3");
  const command = startCommand(["-H", "prod/web-3", "run", "--", "sh", "-c", "echo up; sleep 60"], {
    env: desk.person.env,
  });
  await command.shows("up");
  // It takes the place of the other one.
  const other = await desk.join("web-3", {}, "another-token-of-more-than-thirty-two-bytes");
  const { status, stderr } = await command.ended();
  expect(status).toBe(255);
  expect(stderr).toMatch(
    /invalid websocket bearer token; pass the server's token as auth_bearer_token of \[fleets\.prod\] in hosts\.toml or with --token-file\n$/,
  );
  await other.close();
});

test("nothing of NATS is loaded unless a fleet is used", async () => {
  const hook = join(desk.person.home, "hook.cjs");
  writeFileSync(
    hook,
    `const fs = require("node:fs");
    const { readFileSync } = fs;
    let isRead = false;
    const isPart = (path) => String(path).endsWith("/parts/nats.js");
    fs.readFileSync = (path, ...rest) => {
      isRead ||= isPart(path);
      return readFileSync(path, ...rest);
    };
    process.on("exit", () => {
      const loaded = isRead || Object.keys(require.cache).some(isPart);
      fs.writeSync(2, loaded ? "loaded" : "not loaded");
    });`,
  );
  const env = { NODE_OPTIONS: `--require ${hook}` };
  for (const args of [["host", "list"], ["status"], ["fleet", "--help"], ["ps"]])
    expect((await run(args, { env })).stderr).toMatch(/^not loaded$/m);
  expect((await run(["fleet", "ls", "prod"], { env })).stderr).toBe("loaded");
});

test("host list shows fleets without their secrets, and who may read them", async () => {
  desk.write(`${desk.prod}[fleets.bad]\nservers = 1\n`);
  const listed = await run(["host", "list", "--json"]);
  expect(JSON.parse(listed.stdout)).toEqual([{ name: "prod", fleet: [desk.nats.url], hasToken: true }]);
  expect(listed.stderr).toContain(`${desk.hosts}: fleet 'bad' cannot be used: 'servers' must be`);
  const shown = await run(["host", "list"]);
  expect(shown.stdout).toBe(`NAME   TOKEN  PLACE\nprod/  yes    fleet at ${desk.nats.url}\n`);
  expect(listed.stdout + shown.stdout).not.toContain(TOKEN);
  // Hosts are added and removed beside fleets.
  expect(await run(["host", "add", "prod", "ws://h"])).toMatchObject({
    status: 2,
    stderr: "exec-server: there is a fleet 'prod' already; choose another name\n",
  });
  expect(await run(["host", "add", "one", "ws://127.0.0.1:1"])).toMatchObject({ status: 0 });
  expect(await run(["host", "remove", "one"])).toMatchObject({ status: 0 });
  expect(readFileSync(desk.hosts, "utf8")).toContain("[fleets.prod]");
  const { chmodSync } = await import("node:fs");
  chmodSync(desk.hosts, 0o644);
  const warning = `exec-server: other users can read the secrets in ${desk.hosts}; run 'chmod 600 ${desk.hosts}'\n`;
  expect((await run(["host", "list"])).stderr).toContain(warning);
  expect(await run(["-H", "prod/web-1", "run", "true"])).toMatchObject({ status: 0, stderr: warning });
});

test("names of executors are completed", async () => {
  desk.write(desk.prod);
  const words = async (...typed: string[]): Promise<string[]> => {
    const { stdout } = await run(["complete", "--", ...typed]);
    return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0]!]));
  };
  // On a busy machine an answer may be too late for the first Tab, but not for the next one.
  const completes = (typed: string[], expected: string[]): Promise<void> =>
    expect.poll(() => words(...typed), { timeout: 60_000 }).toEqual(expected);
  expect(await words("-H", "pr")).toEqual(["prod/"]);
  await completes(["-H", "prod/"], ["prod/web-1", "prod/web-2"]);
  await completes(["--host=prod/web-2"], ["--host=prod/web-2"]);
  await completes(["fleet", "drain", "prod/web-1"], ["prod/web-1"]);
  await completes(["cat", "prod/w"], ["prod/web-1:", "prod/web-2:", ":files"]);
  await completes(["fleet", "ls", "--label", ""], ["gpu=yes", "zone=eu", "zone=us"]);
  await completes(["fleet", "ls", "prod", "--label=gpu=yes,zone=e"], ["--label=gpu=yes,zone=eu"]);
  expect(await words("fleet", "ls", "")).toEqual(["prod"]);
  expect(await words("-H", "nope/")).toEqual([]);
});
