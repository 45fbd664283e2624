// `npm run test:systemd`: the tests of processes, run below deploy/systemd/exec-server.service by a systemd of their own.
// It has its own namespaces and a copy of /etc in memory, so it changes nothing on the machine.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ensurePrograms } from "./debian-package.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const UNIT = join(ROOT, "deploy/systemd/exec-server.service");
/** All of them can run there: they need no file outside the directories that the unit makes writable. */
const TESTS = ["process-", "sandbox-process", "sandbox-terminal", "sandbox-files"];
const BOOT_DEADLINE_MS = 30_000;
const CLEANUP_DEADLINE_MS = 5_000;
const TEST_MINUTES = 20;

/** Runs as the first process of the new namespaces. An older /proc would show what the unit hides. */
const BOOT = `
set -e
umount -R -l /proc
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /run/lock /run/systemd/system/exec-server.service.d /run/etc/upper /run/etc/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work /etc
mount -t tmpfs tmpfs /var/lib
useradd --system --user-group --home-dir /var/lib/exec-server --shell /usr/sbin/nologin exec-server
printf '[Unit]\\nDefaultDependencies=no\\n' > /run/systemd/system/tests.target
cp "$UNIT" /run/systemd/system/exec-server.service
cp "$SETTINGS" /run/systemd/system/exec-server.service.d/tests.conf
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

function inside(pid, command, options = {}) {
  return spawnSync("nsenter", ["-t", pid, "-m", "-p", "-C", "-i", ...command], options);
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
  const settingsFile = join(ROOT, ".cache", "systemd-tests.conf");
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  writeFileSync(settingsFile, settings());
  const enter =
    'echo $$ > "$GROUP/cgroup.procs"; exec unshare -m -p -f -C -i --kill-child --propagation private sh -c "$BOOT"';
  const unshare = spawn("sh", ["-c", enter], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { PATH: process.env.PATH, GROUP: group, BOOT, UNIT, SETTINGS: settingsFile },
  });
  const ended = new Promise((resolve) => unshare.once("exit", resolve));
  try {
    const pid = await waitForSystemd(unshare);
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
