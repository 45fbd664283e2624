import { afterAll, beforeAll, expect, test } from "vitest";
import { startCommand } from "./command.ts";
import { type FleetDesk, openFleetDesk } from "./fleet-desk.ts";

let desk: FleetDesk;
let servers: Awaited<ReturnType<FleetDesk["join"]>>[];
beforeAll(async () => {
  desk = await openFleetDesk();
  servers = await Promise.all([
    desk.join("web-1", { zone: "eu" }),
    desk.join("web-2", { zone: "eu" }),
    desk.join("db-1", { zone: "us" }),
  ]);
});
afterAll(() => desk[Symbol.asyncDispose]());

const run = (...args: readonly string[]) => desk.person.run(["-H", "prod", "run", ...args]);
/** Each machine is a server in this program; its number of processes shows what is still running there. */
const running = (): number[] => servers.map((server) => server.state().runningProcesses);
/**
 * A machine that had not answered yet when the command left ends its process in a moment; a session that was not ended
 * would keep it for longer than this waits.
 */
const nothingRuns = (): Promise<void> => expect.poll(running, { timeout: 20_000 }).toEqual([0, 0, 0]);

test("equal answers are printed once, with the machines that gave them", async () => {
  expect(await run("--on", "all", "--", "sh", "-c", "echo out; echo err >&2")).toMatchObject({
    status: 0,
    stdout: "--- db-1, web-1, web-2 (3 machines)\nout\n",
    stderr: "--- db-1, web-1, web-2 (3 machines), stderr\nerr\n",
  });
  expect(await run("--on", "zone=eu", "--", "printf", "no newline")).toMatchObject({
    status: 0,
    stdout: "--- web-1, web-2 (2 machines)\nno newline\n",
  });
});

test("as many machines as there are print nothing but their answers", async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `batch-${10 + index}`);
  const joined = await Promise.all(ids.map((id) => desk.join(id, { zone: "batch" })));
  try {
    expect(await run("--on", "zone=batch", "--", "echo", "out")).toMatchObject({
      status: 0,
      stdout: `--- ${ids.join(", ")} (12 machines)\nout\n`,
      stderr: "",
    });
  } finally {
    await Promise.all(joined.map((server) => server.close()));
  }
});

test("different answers are distinguished, and the highest status is that of the command", async () => {
  // The first to make the directory is another one than the rest.
  const place = `${desk.person.home}/first`;
  const script = `mkdir ${place} 2>/dev/null && { echo first; exit 3; }; echo other`;
  const { status, stdout, stderr } = await run("--on", "all", "--", "sh", "-c", script);
  expect({ status, stderr }).toEqual({ status: 3, stderr: "" });
  expect(stdout).toMatch(/^--- \S+, \S+ \(2 machines\)\nother\n--- \S+: exit status 3\nfirst\n$/);
});

test("the answers as JSON", async () => {
  const ended = await run("--on", "zone=us", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 4");
  expect(ended).toMatchObject({ status: 4, stderr: "" });
  expect(JSON.parse(ended.stdout)).toEqual([
    { machines: ["db-1"], status: 4, stdout: "out\n", stderr: "err\n" },
  ]);
});

test("so many machines at a time, and none after the first failure with --fail-fast", async () => {
  const log = `${desk.person.home}/log`;
  const ended = await run(
    "--on",
    "all",
    "-j",
    "1",
    "--fail-fast",
    "--",
    "sh",
    "-c",
    `echo ran >> ${log}; exit 5`,
  );
  expect(ended).toMatchObject({
    status: 5,
    stdout: "--- db-1: exit status 5\n",
    stderr: "exec-server: not run, or ended early: web-1, web-2\n",
  });
  expect((await run("--on", "zone=us", "--", "cat", log)).stdout).toBe("--- db-1\nran\n");
});

test("--fail-fast ends what runs elsewhere", async () => {
  const place = `${desk.person.home}/fails`;
  const script = `mkdir ${place} 2>/dev/null && { sleep 0.5; exit 6; }; sleep 60`;
  const ended = await run("--on", "all", "--fail-fast", "--", "sh", "-c", script);
  expect(ended.status).toBe(6);
  expect(ended.stderr).toMatch(/^exec-server: not run, or ended early: \S+, \S+\n$/);
  await nothingRuns();
});

test("Ctrl-C ends the command on every machine", async () => {
  const command = startCommand(["-H", "prod", "run", "--on", "all", "--", "sleep", "60"], {
    env: desk.person.env,
  });
  await expect.poll(running, { timeout: 60_000 }).toEqual([1, 1, 1]);
  command.child.kill("SIGINT");
  expect(await command.ended()).toMatchObject({
    signal: "SIGINT",
    stderr: "exec-server: not run, or ended early: db-1, web-1, web-2\nexec-server: interrupted\n",
  });
  await nothingRuns();
});

test("programs and directories that are not there have the statuses of a shell", async () => {
  expect(await run("--on", "all", "--", "no-such-program")).toMatchObject({
    status: 127,
    stdout: "",
    stderr: "exec-server: db-1, web-1, web-2 (3 machines): no-such-program: command not found\n",
  });
  expect(await run("--on", "zone=us", "--timeout", "100ms", "--", "sleep", "60")).toMatchObject({
    status: 124,
  });
});

test("output of any size needs little memory, and both ends of it are shown", async () => {
  const script = "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last";
  const { status, stdout, stderr } = await run("--on", "all", "--", "sh", "-c", script);
  expect(status).toBe(0);
  expect(stdout.length).toBeLessThan(1_100_000);
  expect(stdout).toMatch(/^--- db-1, web-1, web-2 \(3 machines\)\nfirst\nx+/);
  expect(stdout.endsWith("x\nlast\n")).toBe(true);
  expect(stderr).toMatch(/^exec-server: db-1, .*: \d{7} bytes of the output were left out\n$/);
});

test("a reader that leaves, such as head, ends it without a complaint", async () => {
  const ended = await startCommand(["-H", "prod", "run", "--on", "all", "--", "seq", "100000"], {
    env: desk.person.env,
    through: ["bash", "-c", '"$@" | head -n 1; exit ${PIPESTATUS[0]}', "bash"],
  }).ended();
  expect(ended).toMatchObject({
    status: 141,
    stdout: "--- db-1, web-1, web-2 (3 machines)\n",
    stderr: "",
  });
});

test("machines that are cordoned or cannot be reached are named", async () => {
  const cordoned = await desk.join("rest", { zone: "rest" });
  expect(await desk.person.run(["fleet", "cordon", "prod/rest"])).toMatchObject({ status: 0 });
  await expect
    .poll(async () => (await desk.person.run(["fleet", "ls"])).stdout, { timeout: 60_000 })
    .toMatch(/rest +cordoned/);
  expect(await run("--on", "all", "--", "true")).toMatchObject({
    status: 0,
    stdout: "--- db-1, web-1, web-2 (3 machines)\n",
    stderr: "exec-server: left out: rest is cordoned or draining\n",
  });
  expect(await run("--on", "zone=rest", "--", "true")).toMatchObject({
    status: 255,
    stderr:
      "exec-server: every machine in the fleet with zone=rest refuses new work: rest is cordoned or draining\n",
  });
  await cordoned.close();
  desk.write(desk.prod.replace(/auth_bearer_token.*/, 'auth_bearer_token = "wrong"'));
  const refused = await run("--on", "zone=eu", "--", "true");
  expect(refused).toMatchObject({ status: 255, stdout: "" });
  // One line for all of them, with the place of the token.
  expect(refused.stderr).toBe(
    "exec-server: web-1, web-2 (2 machines): invalid websocket bearer token; pass the server's token as auth_bearer_token of [fleets.prod] in hosts.toml or with --token-file\n",
  );
  desk.write(desk.prod);
});

test.each([
  [["--on", "all", "-t", "--", "top"], "-t is for one machine; use -H FLEET/NAME, or leave out -t"],
  [["--on", "all", "-d", "--", "top"], "-d is for one machine; use -H FLEET/NAME, or leave out -d"],
  [["--on", "all", "--name", "x", "--", "top"], "--name needs -d"],
  [["-j", "2", "--", "top"], "-j is for many machines; add --on"],
  [["--fail-fast", "--", "top"], "--fail-fast is for many machines; add --on"],
] as const)("%j is refused", async (args, reason) => {
  expect(await run(...args)).toMatchObject({ status: 2, stdout: "", stderr: `exec-server: ${reason}\n` });
});
