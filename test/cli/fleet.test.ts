import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Host } from "../../src/client/index.ts";
import type { Beat } from "../../src/fleet/beat.ts";
import { encodeBeat } from "../../src/fleet/beat-message.ts";
import { NatsBus } from "../../src/fleet/nats-bus.ts";
import { startCommand } from "./command.ts";
import { type FleetDesk, openFleetDesk, TOKEN } from "./fleet-desk.ts";

let desk: FleetDesk;
beforeAll(async () => {
  desk = await openFleetDesk();
  await Promise.all([
    desk.join("web-1", { zone: "eu" }),
    desk.join("web-2", { zone: "us", gpu: "yes" }),
    desk.join("web-3"),
  ]);
});
afterAll(() => desk[Symbol.asyncDispose]());

const run: FleetDesk["person"]["run"] = (args, options) => desk.person.run(args, options);
const reach = (id: string): Promise<Host> =>
  connect({ fleet: { servers: desk.nats.url, user: "anna", password: "a" }, id }, { token: TOKEN });

test("fleet ls shows the executors, all or those with a label", async () => {
  const { stdout, stderr, status } = await run(["fleet", "ls"]);
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(stdout).toMatch(
    /^NAME {8}STATE {2}RUNNING {2}FREE {2,}LOAD {2}VERSION {2} *AGE {2}LABELS\nprod\/web-1 {2}ready {8}0 {5}4 {2,}\d+\.\d\d {2}1\.2\.3 +\d+m? ?\d*s {2}zone=eu\nprod\/web-2 .* {2}gpu=yes,zone=us\nprod\/web-3 .* {2}-\n$/,
  );
  const chosen = await run(["fleet", "ls", "prod", "--label", "zone=us", "--json"]);
  expect(JSON.parse(chosen.stdout)).toEqual([
    {
      name: "prod/web-2",
      version: "1.2.3",
      labels: { zone: "us", gpu: "yes" },
      running: 0,
      free: 4,
      load: expect.any(Number),
      state: "ready",
      since: expect.stringMatching(/^20\d\d-.*Z$/),
    },
  ]);
  expect(await run(["fleet", "ls", "--label", "zone=mars"])).toMatchObject({
    status: 0,
    stdout: "",
    stderr:
      "exec-server: no executor with zone=mars is connected to the fleet 'prod'; without --label, all are listed\n",
  });
  expect(await run(["fleet", "ls", "--label", "zone"])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("expected KEY=VALUE, not 'zone'"),
  });
});

test("of several fleets each is listed, and one that is away does not hide the others", async () => {
  desk.write(`${desk.prod}[fleets.away]\nservers = "nats://127.0.0.1:1"\n`);
  try {
    const listed = await run(["fleet", "ls"]);
    expect(listed).toMatchObject({
      status: 1,
      stderr:
        "exec-server: fleet 'away' at nats://127.0.0.1:1: failed to connect to NATS: connection refused; is NATS running there?\n",
    });
    expect(listed.stdout).toContain("prod/web-1");
    expect(await run(["fleet", "watch"])).toMatchObject({
      status: 2,
      stderr: "exec-server: there are several fleets; name one of them: prod, away\n",
    });
    expect(await run(["fleet", "ls", "x"])).toMatchObject({
      status: 2,
      stderr: "exec-server: there is no fleet 'x'; known fleets: prod, away\n",
    });
    desk.write("");
    expect(await run(["fleet", "ls"])).toMatchObject({
      status: 2,
      stderr: "exec-server: no fleet is configured yet: see 'exec-server fleet add --help'\n",
    });
  } finally {
    desk.write(desk.prod);
  }
});

test("a fleet is added and removed, beside the hosts and comments of the file", async () => {
  const [password, token] = ["password", "token"].map((name) => join(desk.person.home, name));
  writeFileSync(password!, "a\n");
  writeFileSync(token!, `${TOKEN}\n`);
  const before = `# mine\n[[environments]]\nid = "far"\nurl = "ws://far"\n`;
  desk.write(before);
  const done = { status: 0, stdout: "", stderr: "" };
  try {
    const login = ["--user", "anna", "--password-file", password!, "--token-file", token!];
    expect(await run(["fleet", "add", "prod", desk.nats.url, ...login])).toMatchObject(done);
    expect((await run(["fleet", "ls", "--label", "gpu=yes"])).stdout).toContain("prod/web-2");
    expect(await run(["-H", "prod/web-1", "run", "--", "echo", "hello"])).toMatchObject({
      stdout: "hello\n",
    });
    for (const [args, message] of [
      [["prod", desk.nats.url], "there is a fleet 'prod' already; use --replace to replace it"],
      [["far", desk.nats.url], "there is a host 'far' already; choose another name"],
      [["local", desk.nats.url], "the name of a fleet must not be 'local', which is reserved, not 'local'"],
      [
        ["new", "http://x"],
        "cannot add 'new': 'servers' must be nats://HOST:PORT or tls://HOST:PORT, or an array of them",
      ],
      [["new", desk.nats.url, "--user", "anna"], "cannot add 'new': 'user' needs 'password'"],
    ] as const)
      expect(await run(["fleet", "add", ...args])).toMatchObject({
        status: 2,
        stderr: `exec-server: ${message}\n`,
      });
    expect(await run(["fleet", "add", "--replace", "prod", "nats://127.0.0.1:1"])).toMatchObject(done);
    expect(readFileSync(desk.hosts, "utf8")).toBe(
      `${before}\n[fleets.prod]\nservers = [ "nats://127.0.0.1:1" ]\n`,
    );
    expect(await run(["fleet", "remove", "prod"])).toMatchObject(done);
    expect(readFileSync(desk.hosts, "utf8")).toBe(before);
    expect(await run(["fleet", "remove", "prod"])).toMatchObject({ status: 2 });
  } finally {
    desk.write(desk.prod);
  }
});

test("fleet watch prints who is there and each change, survives that NATS restarts, and ends with Ctrl-C", async () => {
  const watch = startCommand(["fleet", "watch", "prod"], { env: desk.person.env });
  const json = startCommand(["fleet", "watch", "--json"], { env: desk.person.env });
  await Promise.all([watch.shows("prod/web-3  there  ready, 0 running, 4 free"), json.shows("prod/web-3")]);
  const late = await desk.join("late", { zone: "eu" });
  await watch.shows("prod/late  joined  ready, 0 running, 4 free, load ");
  const host = await reach("late");
  const sleep = await host.start(["sleep", "60"]);
  await watch.shows("prod/late  changed  ready, 1 running, 3 free");
  await desk.nats.kill();
  await watch.complains("the connection to NATS is lost; changes are shown when it is back");
  await desk.nats.start();
  await watch.complains("connected to NATS again");
  await sleep.kill();
  await host.close();
  await late.close();
  await Promise.all([watch.shows("prod/late  left"), json.shows('"change":"left"')]);
  watch.child.kill("SIGINT");
  json.child.kill("SIGTERM");
  expect(await watch.ended()).toMatchObject({ status: 0, signal: null });
  const { stdout, status } = await json.ended();
  expect(status).toBe(0);
  const changes = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { change: string; name: string });
  expect(changes.slice(0, 3)).toMatchObject(
    ["web-1", "web-2", "web-3"].map((id) => ({ change: "there", name: `prod/${id}` })),
  );
  const ofLate = changes.filter(({ name }) => name === "prod/late").map(({ change }) => change);
  expect([ofLate[0], ofLate.at(-1)]).toEqual(["joined", "left"]);
});

test("a reader that leaves ends the watch", async () => {
  const watch = startCommand(["fleet", "watch"], {
    env: desk.person.env,
    through: ["sh", "-c", '"$@" | { head -n 1; exec <&-; echo "the reader has left" >&2; }', "sh"],
  });
  await Promise.all([watch.shows("there"), watch.complains("the reader has left")]);
  // The next line has no reader.
  await (await desk.join("brief")).close();
  expect(await watch.ended()).toMatchObject({ status: 0, stderr: "the reader has left\n" });
});

test("what an executor announces cannot do anything to a terminal", async () => {
  const bus = await NatsBus.open({ servers: desk.nats.url, user: "exec", pass: "e" });
  const beat: Beat = {
    id: "evil",
    run: "\u001b]0;run\u0007",
    since: 8.64e15,
    version: "\u001b[2J\u001b[31m",
    labels: { "\u001b[1A": "a\nb\rc\u009b31m" },
    running: Number.MAX_SAFE_INTEGER,
    free: Number.MAX_SAFE_INTEGER,
    load: 1e21,
    state: "ready",
  };
  // Nothing can be listed that is not a name.
  const nameless = Buffer.from(encodeBeat({ ...beat, id: "\u001b[5m" }));
  const beats = setInterval(() => {
    bus.publish("exec.\u001b[5m.beat", nameless);
    bus.publish("exec.evil.beat", encodeBeat(beat));
  }, 10);
  try {
    const watch = startCommand(["fleet", "watch"], { env: desk.person.env });
    await watch.shows("prod/evil");
    watch.child.kill("SIGINT");
    await expect.poll(async () => (await run(["fleet", "ls"])).stdout, { timeout: 60_000 }).toContain("evil");
    const shown = [
      await watch.ended(),
      await run(["fleet", "ls"]),
      await run(["fleet", "ls", "--json"]),
      await run(["fleet", "ls", "--label", "x=y"]),
      await run(["complete", "--", "fleet", "ls", "--label", ""]),
      await run(["complete", "--", "-H", "prod/"]),
      await run(["-H", "prod/nobody", "run", "true"]),
    ];
    for (const { stdout, stderr, status } of shown) {
      expect([0, 255]).toContain(status);
      expect(stdout + stderr).not.toMatch(/(?!\n|\t)\p{Cc}/u);
      expect(stdout + stderr).not.toContain("internal error");
    }
  } finally {
    clearInterval(beats);
    bus.publish("exec.evil.beat", encodeBeat({ ...beat, state: "gone" }));
    await bus.close();
  }
});

test("cordon and uncordon decide whether an executor gets new work", async () => {
  expect(await run(["fleet", "cordon", "prod/web-2"])).toMatchObject({
    status: 0,
    stdout: "",
    stderr: "exec-server: prod/web-2 gets no new work\n",
  });
  expect((await run(["fleet", "ls"])).stdout).toMatch(/prod\/web-2 {2}cordoned/);
  // It stays reachable.
  expect(await run(["-H", "prod/web-2", "run", "echo", "on"])).toMatchObject({ stdout: "on\n" });
  // In the only fleet, a name is enough.
  expect(await run(["fleet", "uncordon", "web-2"])).toMatchObject({
    status: 0,
    stderr: "exec-server: prod/web-2 gets new work again\n",
  });
  expect((await run(["fleet", "ls"])).stdout).not.toContain("cordoned");
  expect(await run(["fleet", "cordon", "prod/web-9"])).toMatchObject({
    status: 1,
    stderr:
      "exec-server: no executor 'web-9' is connected to the fleet 'prod'; connected: web-1, web-2, web-3\n",
  });
  expect(await run(["fleet", "cordon", "prod/"])).toMatchObject({ status: 2 });
});

test("drain waits until nothing runs, or says what still does", async () => {
  await using host = await reach("web-1");
  const sleep = await host.start(["sleep", "60"]);
  const drain = startCommand(["fleet", "drain", "prod/web-1"], { env: desk.person.env });
  await drain.complains("prod/web-1 gets no new work");
  expect(await run(["fleet", "drain", "prod/web-1", "--timeout", "300ms"])).toMatchObject({
    status: 124,
    stderr: expect.stringContaining(
      "prod/web-1: 1 process runs after 300ms; it stays cordoned: 'exec-server fleet uncordon prod/web-1' undoes that\n",
    ),
  });
  expect(drain.child.exitCode).toBeNull();
  await sleep.kill();
  expect(await drain.ended()).toMatchObject({
    status: 0,
    stdout: "",
    stderr: "exec-server: prod/web-1 gets no new work\nexec-server: nothing is running on prod/web-1\n",
  });
  await run(["fleet", "uncordon", "prod/web-1"]);
});

test("drain that is interrupted says what stays, and an executor that leaves meanwhile is no success", async () => {
  const server = await desk.join("brief");
  await using host = await reach("brief");
  await host.start(["sleep", "60"]);
  const drain = (): ReturnType<typeof startCommand> =>
    startCommand(["fleet", "drain", "prod/brief"], { env: desk.person.env });
  const [first, second] = [drain(), drain()];
  await Promise.all([first.complains("gets no new work"), second.complains("gets no new work")]);
  first.child.kill("SIGINT");
  expect(await first.ended()).toMatchObject({
    signal: "SIGINT",
    stderr: expect.stringContaining("interrupted; it stays cordoned"),
  });
  await server.close();
  expect(await second.ended()).toMatchObject({ status: 1 });
});

test("drain notices that somebody undoes it", async () => {
  await using host = await reach("web-3");
  expect(await run(["fleet", "drain", "prod/web-3"])).toMatchObject({ status: 0 });
  const sleep = await host.start(["sleep", "60"]);
  const drain = startCommand(["fleet", "drain", "prod/web-3"], { env: desk.person.env });
  await drain.complains("gets no new work");
  await run(["fleet", "uncordon", "prod/web-3"]);
  expect(await drain.ended()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(
      "prod/web-3 gets new work again: it was uncordoned, or its server was restarted\n",
    ),
  });
  await sleep.kill();
});

test("drain takes several executors: it reports each one, and its status is the highest", async () => {
  await Promise.all([desk.join("busy", { set: "many" }), desk.join("idle", { set: "many" })]);
  await using host = await reach("busy");
  const sleep = await host.start(["sleep", "60"]);
  const both = startCommand(["fleet", "drain", "prod/idle", "busy", "prod/busy"], { env: desk.person.env });
  await both.complains("prod/busy, prod/idle get no new work");
  await both.complains("nothing is running on prod/idle");
  // One that is not there does not keep the others from being drained.
  const late = await run(["fleet", "drain", "nobody", "idle", "busy", "--timeout", "300ms"]);
  expect(late.status).toBe(124);
  expect(late.stderr.split("\n").sort()).toEqual([
    "",
    expect.stringMatching(/^exec-server: no executor 'nobody' is connected to the fleet 'prod'; connected: /),
    "exec-server: nothing is running on prod/idle",
    "exec-server: prod/busy, prod/idle get no new work",
    "exec-server: prod/busy: 1 process runs after 300ms; it stays cordoned: 'exec-server fleet uncordon prod/busy' undoes that",
  ]);
  expect(both.child.exitCode).toBeNull();
  await sleep.kill();
  expect(await both.ended()).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/nothing is running on prod\/busy\n$/),
  });
  expect((await run(["fleet", "drain", "nobody", "idle"])).status).toBe(1);
  expect(await run(["fleet", "uncordon", "prod", "--on", "set=many"])).toMatchObject({
    status: 0,
    stderr: "exec-server: prod/busy, prod/idle get new work again\n",
  });
});

test("drain --on takes those with the labels, and says what to do when it is interrupted", async () => {
  await Promise.all([desk.join("one", { set: "on" }), desk.join("two", { set: "on" })]);
  await using host = await reach("one");
  const sleep = await host.start(["sleep", "60"]);
  const drain = startCommand(["fleet", "drain", "--on", "set=on"], { env: desk.person.env });
  await drain.complains("nothing is running on prod/two");
  drain.child.kill("SIGINT");
  expect(await drain.ended()).toMatchObject({
    signal: "SIGINT",
    stderr: expect.stringContaining(
      "interrupted; they stay cordoned: 'exec-server fleet uncordon prod --on set=on' undoes that",
    ),
  });
  await sleep.kill();
  expect(await run(["-H", "prod", "fleet", "drain", "--on", "set=on"])).toMatchObject({ status: 0 });
  const listed = JSON.parse((await run(["fleet", "ls", "--json"])).stdout) as {
    name: string;
    state: string;
  }[];
  expect(listed.filter(({ state }) => state === "cordoned").map(({ name }) => name)).toEqual([
    "prod/one",
    "prod/two",
  ]);
});

test.each([
  [["fleet", "drain"], 2, "which executors? Name them (FLEET/NAME …), or choose them by labels with --on"],
  [
    ["fleet", "drain", "prod/web-1", "--on", "zone=eu"],
    2,
    "'prod/web-1' is one executor; with --on, name the fleet alone: prod",
  ],
  [["fleet", "cordon", "prod", "test", "--on", "zone=eu"], 2, "--on is for the executors of one fleet"],
  [["fleet", "drain", "--on", "zone"], 2, "expected KEY=VALUE, not 'zone'"],
  [
    ["fleet", "drain", "--on", "zone=mars"],
    1,
    "no executor with zone=mars is connected to the fleet 'prod'; 'exec-server fleet ls' lists all",
  ],
] as const)("%j: one line says what is wrong", async (args, status, reason) => {
  const ended = await run([...args]);
  expect(ended).toMatchObject({ status, stdout: "" });
  expect(ended.stderr).toContain(reason);
  expect(ended.stderr.trim().split("\n")).toHaveLength(1);
});
