import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVER_PATH } from "../../conformance/server-process.ts";
import type { CommandOptions, Ended } from "../command.ts";
import { Person } from "../person.ts";
import { type SshMachine, startSshd } from "../sshd.ts";

/** All that the script on the other machine may use. No tar, no curl, no find, no sha256sum, no base64. */
const UTILITIES = ["chmod", "df", "id", "ls", "mkdir", "rm", "uname"];
/** What it also uses for a single executable; the last two if they are there. */
const FILE_UTILITIES = ["getconf", "head", "mv", "gzip", "sha256sum"];
/** What the tests run there. */
const PROGRAMS = ["cat", "echo", "env", "sh", "sleep"];

/** A machine on loopback that a real ssh reaches, whose account has a shell, a few utilities, and no exec-server. */
export class BareMachine implements AsyncDisposable {
  readonly local = new Person();
  readonly remote = new Person();
  /** All that is in PATH there. */
  readonly bin = join(this.remote.home, "path");
  readonly cache = join(this.remote.home, ".cache", "exec-server");
  readonly #login = join(this.remote.home, "login");
  #sshd: SshMachine | undefined;

  static async start(): Promise<BareMachine> {
    const machine = new BareMachine();
    mkdirSync(machine.bin);
    for (const name of [...UTILITIES, ...FILE_UTILITIES, ...PROGRAMS]) machine.install(name);
    machine.logIn("/bin/sh");
    machine.#sshd = await startSshd(
      join(machine.remote.home, "sshd"),
      {
        HOME: machine.remote.home,
        PATH: machine.bin,
        XDG_RUNTIME_DIR: machine.remote.runtime,
        EXEC_SERVER_EXIT_WHEN_IDLE: "30s",
      },
      { login: machine.#login },
    );
    return machine;
  }

  /** Puts a program of this machine into PATH there. */
  install(name: string, path = `/bin/${name}`): void {
    rmSync(join(this.bin, name), { force: true });
    symlinkSync(path, join(this.bin, name));
  }

  installNode(): void {
    this.install("node", process.execPath);
  }

  /** What a login does, in words of a shell: a login shell, or anything else. */
  logIn(shell: string, before = ""): void {
    this.logInWith(`${before}\nexec ${shell} -c "$SSH_ORIGINAL_COMMAND"`);
  }

  logInWith(script: string): void {
    writeFileSync(this.#login, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** Runs a script with mounts of its own. */
  inNamespace(script: string): string {
    return `PATH=/usr/sbin:/usr/bin:/sbin:/bin exec unshare --mount --map-root-user /bin/sh -c '${script}'`;
  }

  /** Where it is not even in the usual places outside of PATH. */
  logInWithoutNode(): void {
    rmSync(join(this.bin, "node"), { force: true });
    this.logInWith(
      this.inNamespace(
        `for node in /usr/local/bin/node /opt/node/bin/node; do if [ -e $node ]; then mount --bind /dev/null $node; fi; done; PATH=${this.bin}; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
      ),
    );
  }

  /** Busybox is /bin/sh there, and every utility. */
  logInToBusybox(): void {
    const shell = join(this.remote.home, "busybox-shell");
    // Busybox itself would look at the name by which it is called.
    writeFileSync(shell, '#!/bin/busybox sh\nexec /bin/busybox sh "$@"\n', { mode: 0o755 });
    const bin = join(this.remote.home, "busybox");
    rmSync(bin, { recursive: true, force: true });
    mkdirSync(bin);
    for (const name of [...UTILITIES, ...FILE_UTILITIES, "echo", "env"])
      symlinkSync("/bin/busybox", join(bin, name));
    if (existsSync(join(this.bin, "node"))) symlinkSync(process.execPath, join(bin, "node"));
    this.logInWith(
      this.inNamespace(
        `mount --bind ${shell} /bin/dash && exec env PATH=${bin} /bin/dash -c "$SSH_ORIGINAL_COMMAND"`,
      ),
    );
  }

  /** Forgets what has been brought. A server that ends just now may still write its code cache. */
  forget(): void {
    const root = `exec-server-cache-${process.geteuid!()}`;
    for (const path of [join(this.remote.home, ".cache"), `/var/tmp/${root}`, `/tmp/${root}`])
      rmSync(path, { recursive: true, force: true, maxRetries: 20 });
  }

  /** The directories of what has been brought. */
  brought(): string[] {
    return existsSync(this.cache) ? readdirSync(this.cache).sort() : [];
  }

  get localEnv(): Record<string, string> {
    return { ...this.local.env, PATH: `${this.#sshd!.bin}:${SERVER_PATH}` };
  }

  run(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
    return this.local.run(["-H", "ssh://machine", ...args], {
      ...options,
      env: { PATH: this.localEnv["PATH"], ...options.env },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sshd?.[Symbol.asyncDispose]();
    await this.remote[Symbol.asyncDispose]();
    await this.local[Symbol.asyncDispose]();
  }
}
