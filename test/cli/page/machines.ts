import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtCli } from "../../fault/server-under-test.ts";

const DATE = new Date("2026-01-02T03:04:00Z");

const PROJECT = {
  "notes.txt": "buy milk\n",
  "build.sh": "#!/bin/sh\necho built\n",
  "src/main.c": "int main;\n",
} as const;

/**
 * Stands in for ssh, so that the page needs neither a server of ssh nor keys: it runs the command in the other machine's
 * home, and ignores which machine was meant.
 */
const SSH = (env: Environment): string => `#!/bin/sh
for word; do last=$word; done
cd ${env.HOME} && exec env -i ${Object.entries(env)
  .map(([name, value]) => `${name}=${value}`)
  .join(" ")} sh -c "$last"
`;

type Environment = Readonly<Record<"HOME" | "PATH", string>> & Readonly<Record<string, string>>;

/** Ann's machine, and one that she reaches with ssh. Each has a home and a server of her own. */
export class Machines implements AsyncDisposable {
  static async create(): Promise<Machines> {
    const machines = new Machines(await mkdtemp("/var/tmp/exec-server-page-"));
    await machines.#prepare();
    return machines;
  }

  readonly root: string;
  readonly here: Environment;
  readonly build: Environment;

  private constructor(root: string) {
    this.root = root;
    this.here = this.#environment("here");
    this.build = this.#environment("build");
  }

  get project(): string {
    return join(this.here.HOME, "project");
  }

  /** Ends both servers with everything that they run. */
  async [Symbol.asyncDispose](): Promise<void> {
    const stop = [builtCli, "stop", "--force"];
    for (const env of [this.here, this.build])
      await promisify(execFile)(process.execPath, stop, { env }).catch(() => {});
    await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  #environment(machine: string): Environment {
    const home = join(this.root, machine);
    return {
      PATH: `${join(this.root, "bin")}:/usr/local/bin:/usr/bin:/bin`,
      HOME: home,
      XDG_RUNTIME_DIR: join(home, "run"),
      SHELL: "/bin/bash",
      TERM: "screen",
      LANG: "C.UTF-8",
      TZ: "UTC",
      NO_COLOR: "1",
      // Nothing stays for long if a test is interrupted.
      EXEC_SERVER_EXIT_WHEN_IDLE: "60s",
    };
  }

  async #prepare(): Promise<void> {
    await mkdir(join(this.root, "bin"));
    await symlink(builtCli, join(this.root, "bin/exec-server"));
    await writeFile(join(this.root, "bin/ssh"), SSH(this.build), { mode: 0o755 });
    for (const { HOME, XDG_RUNTIME_DIR = "" } of [this.here, this.build]) {
      await mkdir(HOME);
      await mkdir(XDG_RUNTIME_DIR, { mode: 0o700 });
    }
    await writeFile(join(this.build.HOME, ".bash_profile"), "PS1='ann@build:\\w$ '\n");
    await mkdir(join(this.project, "src"), { recursive: true });
    for (const [name, text] of Object.entries(PROJECT)) {
      const path = join(this.project, name);
      await writeFile(path, text);
      await chmod(path, name.endsWith(".sh") ? 0o755 : 0o644);
      await utimes(path, DATE, DATE);
    }
    await chmod(join(this.project, "src"), 0o755);
    await utimes(join(this.project, "src"), DATE, DATE);
  }
}
