import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withDeadline } from "../../fault/deadline.ts";

const DEADLINE_MS = 120_000;
/** This machine's files, with everything that is written in memory, and without anybody's home. */
const ENTER = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
cd "$1"; mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc
mount --rbind /dev root/dev
mount --rbind /sys root/sys
for place in root home tmp run srv; do mount -t tmpfs -o mode=755 tmpfs "root/$place"; done
chmod 1777 root/tmp
ip link set lo up
# Not chroot, in which the kernel allows no sandboxes.
cd root
pivot_root . mnt
umount -l /mnt
cd /
echo ready
# It is the first process, to which orphans are given, and the shell collects them.
exec bash -c 'sleep infinity & wait'`;
/** Nothing of ours may be there before a reader installs it. */
const CLEAN = "rm -rf /etc/exec-server /etc/nats /var/lib/exec-server /usr/local/bin/exec-server";

export interface Ended {
  readonly status: number | null;
  /** Of both streams, in the order of arrival. */
  readonly output: string;
}

export interface ScriptOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Text that is typed on a terminal of its own. */
  readonly typed?: string;
}

interface StartOptions extends Pick<ScriptOptions, "env"> {
  /** It is there until the machine is gone. */
  readonly lasting?: boolean;
}

/**
 * A machine for one reader: namespaces of its own for files, processes and the network, over the files of this machine.
 * What happens there leaves nothing behind. It needs root.
 */
export class FreshRoot implements AsyncDisposable {
  static async open(): Promise<FreshRoot> {
    const directory = mkdtempSync("/var/tmp/exec-server-guide-");
    const child = spawn(
      "unshare",
      ["--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", directory],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const said = once(child.stdout, "data");
    await withDeadline(Promise.race([said, once(child, "exit")]), DEADLINE_MS, () => "the fresh root");
    if (child.exitCode !== null) throw new Error("cannot make a fresh root: it needs root, and overlayfs");
    const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim());
    const root = new FreshRoot(directory, child, pid);
    root.provide(fileURLToPath(new URL("systemctl.sh", import.meta.url)), "/usr/local/sbin/systemctl");
    root.write("/usr/local/sbin/journalctl", "#!/bin/sh\ncat /var/log/units/*\n", 0o755);
    await root.run(CLEAN);
    return root;
  }

  readonly #directory: string;
  readonly #machine: ChildProcess;
  readonly #pid: number;
  readonly #running: ChildProcess[] = [];

  private constructor(directory: string, machine: ChildProcess, pid: number) {
    this.#directory = directory;
    this.#machine = machine;
    this.#pid = pid;
  }

  /** Where a file of this machine is for programs outside. */
  #outside(path: string): string {
    return join(`/proc/${this.#pid}/root`, path);
  }

  /** Copies a file or a directory of the outside. */
  provide(from: string, to: string): void {
    cpSync(from, this.#outside(to), { recursive: true });
    chmodSync(this.#outside(to), 0o755);
  }

  write(path: string, text: string, mode = 0o644): void {
    writeFileSync(this.#outside(path), text, { mode });
  }

  /** Runs a script to its end. */
  async run(script: string, { typed, ...options }: ScriptOptions = {}): Promise<Ended> {
    const child = this.#spawn(typed === undefined ? script : onTerminal(script), options);
    let output = "";
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    // It may end without reading.
    child.stdin!.on("error", () => {}).end(typed ?? "");
    try {
      const [status] = (await withDeadline(
        // What runs on in the background keeps the output open.
        once(child, "exit"),
        DEADLINE_MS,
        () => `the end of ${script}: ${output}`,
      )) as [number | null];
      return { status, output };
    } finally {
      child.kill("SIGKILL");
    }
  }

  /** Starts a script that stays, and resolves with what it says when it says that it is ready. */
  async start(
    script: string,
    ready: RegExp,
    { lasting = false, ...options }: StartOptions = {},
  ): Promise<Ended> {
    const child = this.#spawn(script, options);
    if (!lasting) this.#running.push(child);
    let output = "";
    const says = new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout!, child.stderr!])
        stream.setEncoding("utf8").on("data", (text: string) => {
          output += text;
          if (ready.test(output)) resolve();
        });
      child.once("exit", () => reject(new Error(`${script} ended: ${output}`)));
    });
    await withDeadline(says, DEADLINE_MS, () => `${ready} in ${script}: ${output}`);
    return { status: null, output };
  }

  /** Ends everything that stays. */
  async stop(): Promise<void> {
    for (const child of this.#running.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      // The shell that nsenter runs is the one to interrupt.
      const [shell = ""] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ");
      if (shell !== "") process.kill(-Number(shell), "SIGTERM");
      await withDeadline(ended, DEADLINE_MS, () => `the end of ${child.spawnargs.at(-1)}`);
    }
  }

  #spawn(script: string, { env = {} }: ScriptOptions): ChildProcess {
    const enter = ["--target", `${this.#pid}`, "--mount", "--net", "--pid"];
    return spawn("nsenter", [...enter, "setsid", "--wait", "bash", "-c", `cd; set -e\n${script}`], {
      env: {
        HOME: "/root",
        USER: "root",
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        LANG: "C.UTF-8",
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#machine, "exit");
    this.#machine.kill("SIGKILL");
    await ended;
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function onTerminal(script: string): string {
  return `script -qec ${quoted(`bash -c ${quoted(script)}`)} /dev/null`;
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
