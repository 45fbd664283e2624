import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVER_PATH } from "../../conformance/server-process.ts";
import type { CommandOptions, Ended } from "../command.ts";
import { Person } from "../person.ts";
import { type SshMachine, startSshd } from "../sshd.ts";

/** All that the script on the other machine may use. No tar, no curl, no find, no sha256sum, no base64. */
const UTILITIES = ["chmod", "df", "id", "ls", "mkdir", "rm", "uname"];
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
    for (const name of [...UTILITIES, ...PROGRAMS]) machine.install(name);
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

  /** Forgets what has been brought. */
  forget(): void {
    rmSync(join(this.remote.home, ".cache"), { recursive: true, force: true });
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
