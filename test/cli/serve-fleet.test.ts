import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { connect, type Executor, openFleet } from "../../src/client/index.ts";
import { type NatsServer, startNats } from "../fixtures/nats-server.ts";
import { type Ended, type RunningCommand, startCommand } from "./command.ts";

const TOKEN = "a-token-of-more-than-thirty-two-bytes";
const CONFIG = 'authorization { users = [ { user: "a", password: "pass-a" } ] }';
const POLL = { timeout: 40_000 };

let directory: string;
let nats: NatsServer;
let authentication: string[];
let running: RunningCommand[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "serve-fleet-"));
  nats = await startNats(CONFIG);
  await writeFile(join(directory, "token"), TOKEN);
  await writeFile(join(directory, "fleet.toml"), fleetFile());
  authentication = ["--ws-auth", "capability-token", "--ws-token-file", join(directory, "token")];
});
afterEach(async () => {
  for (const command of running) command.child.kill("SIGKILL");
  await Promise.all(running.map((command) => command.ended()));
  running = [];
});
afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const fleetFile = (more = ""): string =>
  `servers = ["${nats.url}"]\nuser = "a"\npassword = "pass-a"\ninbox = "ignored"\n${more}`;
const fleet = (): { servers: string; user: string; password: string } => ({
  servers: nats.url,
  user: "a",
  password: "pass-a",
});

function start(args: readonly string[]): RunningCommand {
  const command = startCommand(["serve", ...args], { env: { HOME: directory }, cwd: directory });
  running.push(command);
  return command;
}

/** An executor that listens nowhere else. */
const startExecutor = (...args: readonly string[]): RunningCommand =>
  start(["--listen", "none", "--fleet", "fleet.toml", ...authentication, ...args]);

async function listed(): Promise<Executor[]> {
  await using opened = await openFleet(fleet());
  return opened.list();
}

async function refused(args: readonly string[]): Promise<string> {
  const { status, stdout, stderr }: Ended = await start(args).ended();
  expect(stdout).toBe("");
  return `${status}: ${stderr}`;
}

test("a server that listens nowhere prints its name when it can be reached, and is listed with what it was given", async () => {
  const executor = startExecutor(
    "--id",
    "web-1",
    "--label",
    "zone=eu",
    "--label",
    "disk=ssd",
    "--slots",
    "7",
  );
  await executor.shows("fleet:web-1\n");
  // Who is slow to answer is listed by a later look.
  await expect
    .poll(listed, POLL)
    .toMatchObject([
      { id: "web-1", labels: { zone: "eu", disk: "ssd" }, free: 7, running: 0, state: "ready" },
    ]);
  await using host = await connect({ fleet: fleet(), id: "web-1" }, { token: TOKEN });
  expect((await host.run(["echo", "hello"])).stdout).toBe("hello\n");
  expect(host.supports("console/link")).toBe(false);
  await expect(connect({ fleet: fleet(), id: "web-1" }, { token: "wrong" })).rejects.toMatchObject({
    code: "UNAUTHORIZED",
  });
  executor.child.kill("SIGINT");
  const { status, stdout, stderr } = await executor.ended();
  expect([status, stdout]).toEqual([0, "fleet:web-1\n"]);
  expect(
    stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ message: "a login was refused", from: "fleet" }]);
});

test("the configuration file has the same keys, and flags go before it", async () => {
  const file = join(directory, "config.toml");
  const table = `id = "from-file"\nslots = 3\n[fleet.labels]\nzone = "eu"\n`;
  await writeFile(file, `metrics = true\n[fleet]\n${fleetFile(table)}`);
  const common = ["--config", file, ...authentication];
  await start([...common, "--listen", "none"]).shows("fleet:from-file\n");
  const other = ["--listen", "none", "--id", "named", "--label", "zone=us", "--slots", "4"];
  await start([...common, ...other]).shows("fleet:named\n");
  await start([...common, "--listen", "none", "--fleet", "fleet.toml"]).shows(`fleet:${hostname()}\n`);
  const others = async () =>
    (await listed()).map(({ id, labels, free }) => [id, labels, free]).filter(([id]) => id !== hostname());
  // Who is slower to answer than the others is listed by a later look.
  await expect.poll(others, POLL).toEqual([
    ["from-file", { zone: "eu" }, 3],
    ["named", { zone: "us" }, 4],
  ]);
});

test("SIGTERM gives what runs its time; meanwhile the executor is listed as draining and takes nobody", async () => {
  const executor = startExecutor("--id", "a", "--drain-timeout-ms", "60000");
  await executor.shows("fleet:a\n");
  await using opened = await openFleet(fleet(), { token: TOKEN });
  const host = await opened.connect("a");
  const go = join(directory, "go");
  const work = await host.start([
    "sh",
    "-c",
    `echo begun; until [ -e ${go} ]; do sleep 0.05; done; echo done`,
  ]);
  const output = work.output()[Symbol.asyncIterator]();
  await output.next();
  executor.child.kill("SIGTERM");
  await expect.poll(() => opened.list().map(({ state }) => state), POLL).toEqual(["draining"]);
  await expect(opened.connect("a")).rejects.toThrow("the server is closing");
  await writeFile(go, "");
  const { value } = await output.next();
  expect(Buffer.from(value.bytes).toString()).toBe("done\n");
  expect((await work.exited).exitCode).toBe(0);
  expect(await executor.ended()).toMatchObject({ status: 0, signal: null });
  await expect.poll(() => opened.list(), POLL).toEqual([]);
});

test("an executor that nobody can reach any more, because a newer one has its name, says so and ends with 3", async () => {
  const older = startExecutor("--id", "a");
  await older.shows("fleet:a\n");
  const newer = start(["--fleet", "fleet.toml", "--id", "a", ...authentication]);
  const { status, stderr } = await older.ended();
  expect(status).toBe(3);
  expect(stderr).toContain("a newer executor named a has joined the fleet: this one stops");
  await newer.shows("ws://127.0.0.1:");
  // One with its own address keeps that.
  await startExecutor("--id", "a").shows("fleet:a\n");
  await newer.complains("a newer executor of the same name has joined the fleet: this one has left");
  await using host = await connect(newer.stdout.trim(), { token: TOKEN });
  expect((await host.run(["echo", "still"])).stdout).toBe("still\n");
});

test("NATS that is away at the start is waited for, and joined when it is there", async () => {
  await nats.kill();
  const nowhere = startExecutor("--id", "nowhere", "--log-level", "info");
  const listening = start(["--fleet", "fleet.toml", "--id", "listening", ...authentication]);
  const unwanted = startExecutor("--id", "unwanted");
  await listening.shows("ws://127.0.0.1:");
  for (const command of [nowhere, listening, unwanted]) await command.complains("cannot join the fleet yet");
  unwanted.child.kill("SIGTERM");
  expect(await unwanted.ended()).toMatchObject({ signal: "SIGTERM", stdout: "" });
  expect(nowhere.stdout).toBe("");
  await nats.start();
  await nowhere.shows("fleet:nowhere\n");
  await nowhere.complains('"joined the fleet"');
  await expect.poll(async () => (await listed()).map(({ id }) => id), POLL).toEqual(["listening", "nowhere"]);
  await nats.kill();
  await nowhere.complains("the connection to the fleet is lost");
  await nats.start();
  await nowhere.complains("reconnected to the fleet");
  listening.child.kill("SIGTERM");
  expect(await listening.ended()).toMatchObject({ status: 0 });
});

test("an executor that NATS refuses does not start", async () => {
  await writeFile(join(directory, "wrong.toml"), fleetFile().replace("pass-a", "pass-b"));
  const args = ["--listen", "none", "--fleet", "wrong.toml", "--id", "a", ...authentication];
  expect(await refused(args)).toMatch(/^1: Error: failed to connect to NATS: .*Authorization/i);
});

test("paths in the file of a fleet begin at its directory", async () => {
  const place = await mkdtemp(join(directory, "place-"));
  await writeFile(join(place, "fleet.toml"), `servers = "${nats.url}"\nnkey = "../own.nk"\n`);
  const args = ["--listen", "none", "--fleet", join(place, "fleet.toml"), "--id", "a", ...authentication];
  expect(await refused(args)).toContain(`cannot read the nkey of the fleet in ${join(directory, "own.nk")}`);
});

test("the file of the fleet is hidden in every sandbox", async () => {
  const executor = startExecutor("--id", "a");
  await executor.shows("fleet:a\n");
  await using host = await connect({ fleet: fleet(), id: "a" }, { token: TOKEN });
  await writeFile(join(directory, "other.toml"), "shown\n");
  const show = async (name: string): Promise<string> =>
    (await host.run(["cat", join(directory, name)], { sandbox: { network: true } })).stdout;
  expect(await show("other.toml")).toBe("shown\n");
  expect(await show("fleet.toml")).toBe("");
});

test.each([
  [["--fleet", "nats://h:1"], "1: Error: refusing to join a fleet without authentication"],
  [["--id", "a"], "2: error: the argument '--id <NAME>' needs '--fleet <FLEET>'"],
  [["--label", "a=b"], "2: error: the argument '--label <KEY=VALUE>' needs '--fleet <FLEET>'"],
  [["--listen", "none"], "2: error: '--listen none' needs '--fleet <FLEET>'"],
  [["--listen", "none", "--metrics"], "2: error: the argument '--metrics' needs an address"],
  [["--stdio", "--fleet", "nats://h:1"], "2: error: a fleet cannot be joined on stdio"],
  [["--listen", "none", "--tls-cert", "x"], "2: error: the argument '--tls-cert' needs a WebSocket address"],
  [["--fleet", "nats://h:1", "--slots", "0"], "2: error: invalid value '0' for '--slots <COUNT>'"],
  [["--fleet", "nats://h:1", "--label", "a"], "2: error: invalid value 'a' for '--label <KEY=VALUE>'"],
  [["--fleet", "nats://h:1", "--label", "a=b,c"], "expected 1 to 128 letters, digits, and any of"],
  [["--fleet", "nats://h:1", "--label", "a=1", "--label", "a=2"], "the label a is set twice"],
  [["--fleet", "missing.toml"], "1: Error: failed to read the fleet missing.toml"],
])("%j is refused with a reason", async (args, reason) => {
  expect(await refused(args)).toContain(reason);
});

test.each([
  [
    ["--id", "a.b"],
    'invalid executor name "a.b"; expected up to 64 letters, digits, - and _, the first a letter or digit',
  ],
  [["--fleet", "http://h"], 'invalid fleet server "http://h"; expected nats://HOST:PORT'],
  [["--fleet", "nats://me:secret@h"], "invalid fleet server: its URL contains a user"],
])("with authentication, %j is refused with a reason", async (args, reason) => {
  const [flags, said] = [new Set(args).has("--fleet") ? [] : ["--fleet", "nats://h:1"], reason];
  const complaint = await refused([...flags, ...args, ...authentication]);
  expect(complaint).toContain(`1: Error: ${said}`);
  expect(complaint).not.toContain("secret");
});

test.each([
  ['user = "a"', "fleet.toml:1: servers is missing"],
  ['servers = "nats://h:1"\nid = 3', "fleet.toml:2: id must be a non-empty string"],
  ['servers = "nats://h:1"\nport = 3', "fleet.toml:2: port is not a known key"],
  ['servers = "nats://h:1"\nslots = "many"', "fleet.toml:2: slots must be a number"],
  ['servers = "nats://h:1"\n[labels]\nzone = 1', "fleet.toml:3: labels.zone must be a string"],
  ["servers = [1]", "fleet.toml:1: servers must be the URL of a NATS server, or an array of them"],
])("a file with %j is refused with its line", async (text, reason) => {
  const cwd = await mkdtemp(join(directory, "files-"));
  await writeFile(join(cwd, "fleet.toml"), text);
  const command = startCommand(["serve", "--fleet", "fleet.toml", ...authentication], { cwd });
  const { status, stderr } = await command.ended();
  expect(`${status}: ${stderr}`).toContain(`1: Error: ${reason}`);
});
