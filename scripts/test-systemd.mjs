// `npm run test:systemd`: the tests of processes, run below deploy/systemd/exec-server.service by a systemd of their own, and
// a durable server that is restarted under load. It has its own namespaces and a copy of /etc in memory, so it changes
// nothing on the machine. `npm run test:systemd -- durable` runs only the second part.
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { ensurePrograms } from "./debian-package.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DEPLOYED = join(ROOT, "deploy/systemd");
const UNITS = join(ROOT, ".cache/systemd-units");
const CLI = join(ROOT, "dist/cli.js");
/** All of them can run there: they need no file outside the directories that the unit makes writable. */
const TESTS = ["process-", "sandbox-process", "sandbox-terminal", "sandbox-files"];
const BOOT_DEADLINE_MS = 30_000;
const CLEANUP_DEADLINE_MS = 5_000;
const TEST_MINUTES = 20;
const DURABLE = ["exec-server-keeper.service", "exec-server-durable.service", "exec-server-durable.socket"];
const RESTARTS = 10;
const RUNNING = 20;
const LOOPS = 4;
const LINES = 2_000;
const RUN_DEADLINE_MS = 180_000;

/** Runs as the first process of the new namespaces. An older /proc would show what the unit hides. */
const BOOT = `
set -e
umount -R -l /proc
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /run/lock /run/systemd/system /run/etc/upper /run/etc/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work /etc
mount -t tmpfs tmpfs /var/lib
useradd --system --user-group --home-dir /var/lib/exec-server --shell /usr/sbin/nologin exec-server
printf '[Unit]\\nDefaultDependencies=no\\n' > /run/systemd/system/tests.target
cp -r "$UNITS/." /run/systemd/system
install -d -m 750 -g exec-server /etc/exec-server
install -m 640 -g exec-server /dev/null /etc/exec-server/config.toml
exec env -i container=other PATH="$PATH" /lib/systemd/systemd --system --unit=tests.target --log-target=null
`;

/** What differs from the service: the program, and the time it has. */
function settings() {
  const command = [
    process.execPath,
    "node_modules/vitest/vitest.mjs",
    "run",
    // The tree is read-only, so the configuration cannot be compiled to a file.
    "--configLoader=runner",
    "--project=conformance",
    "--maxWorkers=4",
    ...TESTS,
  ];
  return `[Service]
Type=oneshot
Restart=no
ExecStart=
ExecStart=${command.join(" ")}
WorkingDirectory=${ROOT}
Environment=CONFORMANCE_TARGETS=ours-ws,ours-stdio,ours-memory
TimeoutStartSec=${TEST_MINUTES}min
StandardOutput=file:/run/output
StandardError=file:/run/output
`;
}

/** The units as they are shipped, but for the place of the program and the port. */
function writeUnits(port) {
  rmSync(UNITS, { recursive: true, force: true });
  mkdirSync(join(UNITS, "exec-server.service.d"), { recursive: true });
  copyFileSync(join(DEPLOYED, "exec-server.service"), join(UNITS, "exec-server.service"));
  writeFileSync(join(UNITS, "exec-server.service.d/tests.conf"), settings());
  for (const name of DURABLE) {
    const text = readFileSync(join(DEPLOYED, name), "utf8");
    const placed = text
      .replace("ExecStart=exec-server ", `ExecStart=${process.execPath} ${CLI} `)
      .replace("127.0.0.1:7070", `127.0.0.1:${port}`);
    if (placed === text) throw new Error(`${name} has neither the program nor the address`);
    writeFileSync(join(UNITS, name), placed);
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/**
 * Restarts a durable server while clients connect all the time, and processes write. Throws if one connection was refused,
 * or if a byte or a status of a process differs.
 */
async function restartUnderLoad(pid, url) {
  // Not synchronous: the clients below go on.
  const control = async (...args) => {
    const child = spawn("nsenter", [...into(pid), "systemctl", ...args], { stdio: "inherit" });
    const status = await new Promise((resolve) => child.once("exit", resolve));
    if (status !== 0) throw new Error(`systemctl ${args.join(" ")} ended with ${status}`);
  };
  await control("start", "exec-server-durable.service");
  const failures = [];
  let connected = 0;
  let longestMs = 0;
  const over = new AbortController();
  const loops = Array.from({ length: LOOPS }, async () => {
    while (!over.signal.aborted) {
      const since = performance.now();
      await tryConnection(url).then(
        () => (connected += 1),
        (error) => failures.push(error.message),
      );
      longestMs = Math.max(longestMs, performance.now() - since);
    }
  });
  const begun = [];
  const running = Array.from({ length: RUNNING }, (_, at) => {
    const client = runClient(url, at);
    begun.push(client.begun);
    return client.ended;
  });
  await Promise.all(begun);
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await delay(500);
    // So many in a row would count as failures.
    await control("reset-failed", "exec-server-durable.service");
    await control("restart", "exec-server-durable.service");
  }
  const wrong = (await Promise.all(running)).filter((fault) => fault !== undefined);
  over.abort();
  await Promise.all(loops);
  await control(
    "stop",
    "exec-server-durable.socket",
    "exec-server-durable.service",
    "exec-server-keeper.service",
  );
  console.log(
    `durable server: ${RESTARTS} restarts, ${connected} connections, ${failures.length} refused, ` +
      `the longest after ${Math.round(longestMs)} ms; ${RUNNING} processes, ${wrong.length} wrong`,
  );
  if (failures.length + wrong.length > 0) throw new Error([...new Set([...failures, ...wrong])].join("\n"));
}

function tryConnection(url) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.on("error", reject);
    socket.on("open", () => socket.close());
    socket.on("close", resolve);
  });
}

/** `begun` resolves with its first output, `ended` with what is wrong about its output or status, if anything is. */
function runClient(url, at) {
  const script = `for ((n = 1; n <= ${LINES}; n += 1)); do echo $n; sleep 0.005; done; exit ${at}`;
  const child = spawn(process.execPath, [CLI, "run", "--url", url, "--", "bash", "-c", script], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: RUN_DEADLINE_MS,
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
  const closed = new Promise((resolve) => child.once("close", resolve));
  const begun = Promise.race([new Promise((resolve) => child.stdout.once("data", resolve)), closed]);
  const expected = Array.from({ length: LINES }, (_, line) => `${line + 1}\n`).join("");
  const ended = closed.then((status) =>
    status === at && out === expected
      ? undefined
      : `process ${at} ended with ${status} after ${out.length} of ${expected.length} bytes: ${err}`,
  );
  return { begun, ended };
}

/** Resolves with the pid of the new systemd, once it answers. */
async function waitForSystemd(unshare) {
  const children = `/proc/${unshare.pid}/task/${unshare.pid}/children`;
  for (const deadline = Date.now() + BOOT_DEADLINE_MS; Date.now() < deadline; await delay(100)) {
    if (unshare.exitCode !== null) break;
    const pid = readFileSync(children, "utf8").trim();
    if (pid !== "" && inside(pid, ["systemctl", "is-system-running", "--wait"]).status === 0) return pid;
  }
  throw new Error("systemd did not start in namespaces of its own");
}

const into = (pid) => ["-t", pid, "-m", "-p", "-C", "-i"];

function inside(pid, command, options = {}) {
  return spawnSync("nsenter", [...into(pid), ...command], options);
}

function createControlGroup() {
  const unified = readFileSync("/proc/self/mounts", "utf8").match(/^\S+ (\S+) cgroup2 /m)?.[1];
  if (unified === undefined) throw new Error("this machine has no cgroup2 file system");
  const directory = join(unified, `exec-server-tests-${process.pid}`);
  mkdirSync(directory);
  return directory;
}

/** The kernel takes a moment to empty the groups that systemd made. */
async function removeGroup(group) {
  for (const deadline = Date.now() + CLEANUP_DEADLINE_MS; Date.now() < deadline; await delay(100)) {
    spawnSync("find", [group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"], { stdio: "ignore" });
    if (!existsSync(group)) return;
  }
  console.error(`${group} could not be removed`);
}

async function main() {
  if (process.getuid?.() !== 0) throw new Error("only root can start a systemd: run this as root");
  if (!ensurePrograms({ "systemd-analyze": "systemd", bwrap: "bubblewrap", nsenter: "util-linux" })) return 1;
  const group = createControlGroup();
  const port = await freePort();
  writeUnits(port);
  const enter =
    'echo $$ > "$GROUP/cgroup.procs"; exec unshare -m -p -f -C -i --kill-child --propagation private sh -c "$BOOT"';
  const unshare = spawn("sh", ["-c", enter], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { PATH: process.env.PATH, GROUP: group, BOOT, UNITS },
  });
  const ended = new Promise((resolve) => unshare.once("exit", resolve));
  try {
    const pid = await waitForSystemd(unshare);
    await restartUnderLoad(pid, `ws://127.0.0.1:${port}`);
    if (process.argv[2] === "durable") return 0;
    const { status } = inside(pid, ["systemctl", "start", "exec-server.service"]);
    inside(pid, ["cat", "/run/output"], { stdio: "inherit" });
    return status;
  } finally {
    unshare.kill("SIGKILL");
    await ended;
    await removeGroup(group);
  }
}

process.exitCode = await main();
