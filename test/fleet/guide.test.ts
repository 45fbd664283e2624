import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { builtCli, packageRoot } from "../fault/server-under-test.ts";
import { type Authority, createAuthority } from "../fixtures/certificates.ts";
import { freePort } from "../fixtures/free-port.ts";

const PAGE = fileURLToPath(new URL("../../docs/guide/fleet.md", import.meta.url));
const DEADLINE_MS = 90_000;
const BLOCK = /(?:^<!-- (?<marks>.*?) -->\n)?^```sh\n(?<script>.*?)^```$/gms;
/** What a program that stays says when it is ready. */
const READY: Readonly<Record<string, string>> = { nats: "Server is ready", executor: "fleet:web-1" };

interface Block {
  readonly script: string;
  readonly stays: string | undefined;
  /** Machines of NATS on which it is run. */
  readonly machines: readonly string[];
}

let directory: string;
let authority: Authority;
let nodes: Authority;
let ports: readonly [client: number, route: number];
const running = new Map<string, ChildProcess>();

beforeAll(async () => {
  directory = await mkdtemp("/var/tmp/exec-server-fleet-guide-");
  authority = createAuthority();
  nodes = createAuthority();
  ports = [await freePort(), await freePort()];
  await mkdir(join(directory, "bin"));
  const program = join(directory, "bin", "exec-server");
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${builtCli}" "$@"\n`);
  await chmod(program, 0o755);
});
afterAll(async () => {
  for (const child of running.values()) await end(child);
  await rm(directory, { recursive: true });
  authority[Symbol.dispose]();
  nodes[Symbol.dispose]();
});

/** The blocks below `## Step by step`, by the number of their step. */
function steps(): Map<string, Block[]> {
  const [, section = ""] = readFileSync(PAGE, "utf8").split(/^## Step by step$/m);
  const [all = ""] = section.split(/^## /m);
  const parts = all.split(/^### /m).slice(1);
  return new Map(
    parts.map((part) => [
      part.slice(0, part.indexOf("\n")),
      Array.from(part.matchAll(BLOCK), ({ groups }) => {
        const { marks = "", script = "" } = groups ?? {};
        const stays = /stays: (?<name>\w+)/.exec(marks)?.groups?.["name"];
        const machines = /each: (?<names>[^,]+)/.exec(marks)?.groups?.["names"]?.split(" ");
        return { script, stays, machines: machines ?? ["nats-1"] };
      }),
    ]),
  );
}

/** The same text for this machine, on which every machine of the page has its own address and directory. */
function runOnMachine(script: string, machine: string): string {
  return script
    .replaceAll("server_name: nats-1", `server_name: ${machine}`)
    .replaceAll("$(npm root --global)/exec-server/", packageRoot)
    .replaceAll("/etc/exec-server", join(directory, "executor"))
    .replaceAll("/etc/nats", join(directory, machine))
    .replaceAll(/nats-(\d)\.example\.com/g, "127.0.0.$1")
    .replaceAll("4222", `${ports[0]}`);
}

const environment = (): NodeJS.ProcessEnv => ({
  HOME: join(directory, "home"),
  PATH: `${join(directory, "bin")}:${process.env["PATH"]}:/usr/sbin`,
});

async function run(script: string, machine = "nats-1"): Promise<string> {
  const text = `set -euo pipefail\n${runOnMachine(script, machine)}`;
  const { stdout } = await promisify(execFile)("bash", ["-c", text], {
    cwd: directory,
    env: environment(),
    timeout: DEADLINE_MS,
  });
  return stdout;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await withDeadline(ended, DEADLINE_MS, () => `the end of ${child.spawnargs.join(" ")}`);
}

/** Starts a program that stays, in the place of an earlier one. */
async function start(name: string, script: string, machine: string): Promise<void> {
  const place = name === "nats" ? machine : name;
  const earlier = running.get(place);
  if (earlier !== undefined) await end(earlier);
  const child = spawn("bash", ["-c", `exec ${runOnMachine(script, machine)}`], {
    cwd: directory,
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.set(place, child);
  let said = "";
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-10_000);
        if (said.includes(READY[name]!)) resolve();
      });
    child.once("exit", () => reject(new Error(`${script} ended: ${said}`)));
  });
  await withDeadline(ready, DEADLINE_MS, () => `${script} to be ready: ${said}`);
}

/** Follows one step of the page. Returns what its last commands print. */
async function follow(title: string): Promise<string> {
  const blocks = steps().get(title);
  if (blocks === undefined) throw new Error(`the page has no step ${title}`);
  let printed = "";
  for (const { script, stays, machines } of blocks)
    for (const machine of machines)
      if (stays === undefined) printed = await run(script, machine);
      else await start(stays, script, machine);
  return printed;
}

/** What a person has to bring: certificates for a machine, and the addresses of this one. */
async function prepare(machine: string): Promise<void> {
  const place = join(directory, machine);
  const number = machine.slice(-1);
  await mkdir(place, { recursive: true });
  const names = { names: `IP:127.0.0.${number}` };
  const own = authority.issue(machine, names);
  const node = nodes.issue(machine, names);
  for (const [from, to] of [
    [own.cert, "cert.pem"],
    [own.key, "key.pem"],
    [authority.ca, "ca.pem"],
    [node.cert, "node.pem"],
    [node.key, "node.key"],
    [nodes.ca, "nodes-ca.pem"],
  ] as const)
    await cp(from, join(place, to));
}

/** The files of the example name addresses and paths of their own. */
async function localize(machine: string): Promise<void> {
  for (const name of ["fleet.conf", "cluster.conf"]) {
    const file = join(directory, machine, name);
    const text = readFileSync(file, "utf8")
      .replaceAll("0.0.0.0", `127.0.0.${machine.slice(-1)}`)
      .replaceAll("6222", `${ports[1]}`)
      .replaceAll(join(directory, "nats-1"), join(directory, machine));
    await writeFile(file, runOnMachine(text, machine));
  }
}

test("every step of the guide does what it says, from one machine to a cluster of three nodes", async () => {
  expect([...steps().keys()]).toEqual([
    "1. One machine",
    "2. Machines elsewhere",
    "3. Three NATS nodes",
    "An executor as a service",
  ]);
  const first = await follow("1. One machine");
  expect(first).toMatch(/web-1 +ready/);
  expect(first).toContain("hello from web-1\n");

  await prepare("nats-1");
  const [copied, ...rest] = steps().get("2. Machines elsewhere")!;
  await run(copied!.script);
  await localize("nats-1");
  let printed = "";
  for (const { script, stays } of rest)
    if (stays === undefined) printed = await run(script);
    else await start(stays, script, "nats-1");
  expect(printed).toMatch(/web-1 +ready/);
  expect(printed).toContain("hello from far away\n");
  await expect(run("exec-server -H prod/web-2 run -- true")).rejects.toThrow(
    "NATS does not permit this client to use the subject exec.web-2.dial",
  );

  for (const machine of ["nats-2", "nats-3"]) {
    await cp(join(directory, "nats-1"), join(directory, machine), { recursive: true });
    for (const name of ["fleet.conf", "cluster.conf"]) {
      const file = join(directory, machine, name);
      const text = readFileSync(file, "utf8");
      const listening = text.replaceAll(`listen: "127.0.0.1:`, `listen: "127.0.0.${machine.slice(-1)}:`);
      await writeFile(file, listening.replaceAll(join(directory, "nats-1"), join(directory, machine)));
    }
    await prepare(machine);
  }
  expect(await follow("3. Three NATS nodes")).toBe("hello through the cluster\n");
  for (const machine of ["nats-1", "nats-2"]) await end(running.get(machine)!);
  // The executor may still be on its way to the node that is left, for longer than a dial waits if the machine is slow.
  const said = await pollUntil(
    () => run("exec-server -H prod/web-1 run -- echo still there").catch(() => false as const),
    DEADLINE_MS,
    () => "the executor on the third node",
  );
  expect(said).toBe("still there\n");
});
