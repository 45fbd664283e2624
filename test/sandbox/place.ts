import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Attempt } from "./attempt.ts";
import { prelude } from "./syscalls.ts";

/** The directories of one attempt, and what its policy says about them. */
export class Place {
  /** Also the id of the attempt. */
  readonly id: string;
  /** May be written. */
  readonly work: string;
  /** May be read. */
  readonly outside: string;
  /** Is denied. */
  readonly secrets: string;
  /** Is denied, too. */
  readonly secretFile: string;
  readonly sharedMemory: string;
  readonly #root: string;
  #before = "";

  constructor(root: string, id: string) {
    this.id = id;
    this.#root = root;
    this.work = join(root, "work");
    this.outside = join(root, "outside");
    this.secrets = join(root, "secrets");
    this.secretFile = join(root, "secret");
    this.sharedMemory = `/dev/shm/${id}`;
  }

  async create(secret: string): Promise<void> {
    const files = {
      "work/.git/config": "intact\n",
      "work/deep/secret": `${secret}\n`,
      "work/deep/er/token.hidden": `${secret}\n`,
      "work/sub/file": "",
      "outside/canary": "intact\n",
      "secrets/file": `${secret}\n`,
      [`secrets/name-${secret}`]: "",
      secret: `${secret}\n`,
    };
    for (const [name, content] of Object.entries(files)) {
      await mkdir(join(this.#root, name, ".."), { recursive: true });
      await writeFile(join(this.#root, name), content);
    }
    await writeFile(this.sharedMemory, `${secret}\n`);
    this.#before = this.#state();
  }

  /** Whether something is different that the policy protects. */
  get isChanged(): boolean {
    return this.#state() !== this.#before;
  }

  get variables(): Record<string, string> {
    return {
      ID: this.id,
      WORK: this.work,
      OUTSIDE: this.outside,
      SECRETS: this.secrets,
      SECRET_FILE: this.secretFile,
      DEV_SHM_FILE: this.sharedMemory,
    };
  }

  /** Handle with which the kernel finds the denied file without a path. */
  get secretHandle(): string {
    const script = String.raw`my $h = pack("Lx4", 128) . "\0" x 128; my $m = "\0" x 8; my $p = "$secrets/file";
      sys("name_to_handle_at", -100, $p, $h, $m, 0) == 0 or exit; print unpack("H*", substr($h, 0, 8 + unpack("L", $h)))`;
    return execFileSync("perl", ["-e", prelude + script], { env: this.variables, encoding: "utf8" });
  }

  /** The context as the wire carries it. */
  sandbox({ network, proxy }: Attempt): object {
    const entry = (path: string, access: string) => ({
      path: { type: "path", path: pathToFileURL(path).href },
      access,
    });
    const entries = [
      { path: { type: "special", value: { kind: "root" } }, access: "read" },
      entry(this.work, "write"),
      entry(join(this.work, "sub"), "write"),
      entry(this.secrets, "deny"),
      entry(this.secretFile, "deny"),
      entry(join(this.work, "deep", "secret"), "deny"),
      { path: { type: "glob_pattern", pattern: `${this.work}/**/*.hidden` }, access: "deny" },
    ];
    return {
      permissions: {
        type: "managed",
        file_system: { type: "restricted", entries },
        network: proxy === undefined ? (network ?? "restricted") : "enabled",
      },
      cwd: pathToFileURL(this.work).href,
      workspaceRoots: [pathToFileURL(this.work).href],
      windowsSandboxLevel: "disabled",
    };
  }

  #state(): string {
    const protectedNames = [".git", ".codex", ".agents"].map((name) => join(this.work, name));
    return [this.outside, ...protectedNames, this.sharedMemory].flatMap(describe).join("\n");
  }
}

/** Everything about a path and what is below it that an attempt can change. */
function describe(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [`${path} missing`];
  if (stat.isDirectory()) {
    const below = readdirSync(path).toSorted();
    // An empty directory where nothing was is the mount point of a sandbox that still runs.
    return below.length === 0 ? [`${path} missing`] : below.flatMap((name) => describe(join(path, name)));
  }
  const { mode, uid, mtimeMs, ctimeMs, ino } = stat;
  const content = stat.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, "latin1");
  return [[path, mode, uid, mtimeMs, ctimeMs, ino, content].join(" ")];
}
