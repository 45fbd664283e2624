import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { spin, withDeadline } from "./deadline.ts";
import { getAttribute, setAttribute } from "./file-nodes.ts";
import { failureOf, uriOf, writeFile } from "./file-requests.ts";
import { type MountedTmpfs, mountTmpfs } from "./mounted-tmpfs.ts";
import { faultRounds, runSeed, SeededRandom } from "./seeded-random.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";
import { ConnectionLost, openSession, type SessionClient } from "./session-client.ts";

const MIB = 1024 * 1024;
const KILLS = 20;
const FILES = 8;
const WRITES_IN_FLIGHT = 8;
const MAX_ANSWERS_BEFORE_KILL = 40;
const MAX_SPIN_MS = 20;
const WATCHED_WRITES = 200;
const LOOKS = 20;
const ROUND_DEADLINE_MS = 120_000;
const LONG_FORM_MS = 20 * 60_000;
const OTHER_USER = 1234;

interface OldFile {
  /** Makes the file `path` beside which `directory` has room for more; returns what must be kept, as text. */
  make(path: string, directory: string): () => unknown;
  followSymlinks?: boolean;
}

/** Files with more than contents. Each returns a view of everything that must not change when they are replaced. */
const OLD_FILES: Readonly<Record<string, OldFile>> = {
  "its permissions and owner": {
    make: (path) => {
      writeFileSync(path, "old");
      chownSync(path, OTHER_USER, OTHER_USER + 1);
      chmodSync(path, 0o4751);
      return () => {
        const { mode, uid, gid } = lstatSync(path);
        return { mode: mode.toString(8), uid, gid };
      };
    },
  },
  "its other names": {
    make: (path, directory) => {
      writeFileSync(path, "old");
      linkSync(path, `${directory}/other-name`);
      return () => ({
        nlink: lstatSync(path).nlink,
        same: lstatSync(path).ino === lstatSync(`${directory}/other-name`).ino,
      });
    },
  },
  "the links that lead to it": {
    make: (path, directory) => {
      mkdirSync(`${directory}/below`);
      writeFileSync(`${directory}/below/target`, "old");
      symlinkSync("below/target", `${directory}/middle`);
      symlinkSync(`${directory}/middle`, path);
      return () => [
        readlinkSync(path),
        readlinkSync(`${directory}/middle`),
        lstatSync(`${directory}/below/target`).isFile(),
      ];
    },
  },
  "its permissions, where no link may be on the way": {
    make: (path) => {
      writeFileSync(path, "old");
      chmodSync(path, 0o600);
      return () => lstatSync(path).mode.toString(8);
    },
    followSymlinks: false,
  },
};

const optionsOf = ({ followSymlinks = true }: OldFile): object => ({ followSymlinks });

describe("a file that is rewritten", () => {
  let base: string;
  let server: ServerUnderTest;
  let client: SessionClient;

  beforeAll(async () => {
    base = mkdtempSync("/var/tmp/exec-server-replacement-");
    server = await startServer();
    client = await openSession(server.url);
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(base, { recursive: true, force: true });
  });

  it.each(Object.entries(OLD_FILES))("keeps %s", async (name, old) => {
    const directory = `${base}/${name}`;
    mkdirSync(directory);
    const look = old.make(`${directory}/file`, directory);
    const before = look();
    const names = readdirSync(directory);
    for (const contents of ["new", "x".repeat(MIB), ""]) {
      await writeFile(client, `${directory}/file`, contents, optionsOf(old));
      expect(readFileSync(`${directory}/file`, "utf8") === contents).toBe(true);
      expect(look()).toEqual(before);
      expect(readdirSync(directory)).toEqual(names);
    }
  });

  it.each(Object.entries(OLD_FILES))("stays as it was on a full disk, with %s", async (_, old) => {
    using disk = mountTmpfs("1m");
    const look = old.make(`${disk.path}/file`, disk.path);
    const before = look();
    const names = readdirSync(disk.path);
    const tooMuch = Buffer.alloc(2 * MIB, "new");
    expect(await failureOf(writeFile(client, `${disk.path}/file`, tooMuch, optionsOf(old)))).toEqual({
      code: -32603,
      osError: constants.errno.ENOSPC,
    });
    expect(readFileSync(`${disk.path}/file`, "latin1").slice(0, 100)).toBe("old");
    expect(look()).toEqual(before);
    expect(readdirSync(disk.path)).toEqual(names);
  });

  it("keeps its extended attributes", async ({ skip }) => {
    const path = `${base}/attributed`;
    writeFileSync(path, "old");
    if (!setAttribute(path, "user.note", "kept"))
      skip(`the file system of ${base} has no extended attributes`);
    await writeFile(client, path, "new");
    expect([readFileSync(path, "utf8"), getAttribute(path, "user.note")]).toEqual(["new", "kept"]);
  });

  it("is created with the usual permissions", async () => {
    await writeFile(client, `${base}/created`, "new");
    writeFileSync(`${base}/compared`, "new");
    const [created, compared] = [statSync(`${base}/created`), statSync(`${base}/compared`)];
    expect([created.mode, created.uid, created.gid]).toEqual([compared.mode, compared.uid, compared.gid]);
  });

  it("keeps its owner when the server is root without the rights of root", async () => {
    await using powerless = await startServer({
      through: ["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
    });
    const path = `${base}/foreign`;
    writeFileSync(path, "old");
    chownSync(path, OTHER_USER, OTHER_USER);
    chmodSync(path, 0o666);
    await writeFile(await openSession(powerless.url), path, "new");
    const { uid, mode } = statSync(path);
    expect([readFileSync(path, "utf8"), uid, mode & 0o777]).toEqual(["new", OTHER_USER, 0o666]);
  });

  it("is not lost when it is copied onto itself", async () => {
    const path = `${base}/itself`;
    writeFileSync(path, "old");
    symlinkSync("itself", `${base}/link-to-itself`);
    linkSync(path, `${base}/other-name`);
    for (const name of ["itself", "link-to-itself", "other-name"]) {
      await client.request("fs/copy", {
        sourcePath: uriOf(path),
        destinationPath: uriOf(`${base}/${name}`),
        recursive: false,
      });
      expect([name, readFileSync(path, "utf8")]).toEqual([name, "old"]);
    }
  });

  it("is the old one or the new one for those who read it meanwhile", async () => {
    using disk = mountTmpfs("64m");
    const random = new SeededRandom(runSeed);
    const rewriting = new Rewriting(disk.path);
    let looks = 0;
    const writing = rewriting.run(client, random, () => rewriting.answers >= WATCHED_WRITES && looks > LOOKS);
    const written = new AbortController();
    const watching = (async () => {
      while (!written.signal.aborted) {
        for (let file = 0; file < FILES; file += 1) versionIn(`${disk.path}/f${file}`, file);
        looks += 1;
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    })();
    await Promise.race([writing, watching]);
    written.abort();
    await Promise.all([writing, watching]);
    rewriting.look(`seed ${runSeed}`);
  });

  it(
    "is the old one or the new one, whenever the server is killed",
    async () => {
      using disk = mountTmpfs("64m");
      const random = new SeededRandom(runSeed);
      let answers = 0;
      for (let kill = 0; kill < KILLS * faultRounds; kill += 1)
        answers += await writeUntilKilled(disk, random);
      expect(answers).toBeGreaterThan(KILLS * faultRounds);
    },
    LONG_FORM_MS,
  );
});

const contentsOf = (file: number, version: number): Buffer =>
  Buffer.alloc(sizeOf(file, version), `file ${file} version ${version}\n`);

/** Some are small enough to be written at once, some are not. */
const sizeOf = (file: number, version: number): number =>
  [30, 3000, 100_000, 2 * MIB][(file + version) % 4] ?? 30;

/** The version that a file holds. Throws when it is a part of one, or of two. */
function versionIn(path: string, file: number): number {
  const bytes = readFileSync(path);
  const version = Number(/version (\d+)/.exec(bytes.toString("latin1", 0, 40))?.[1]);
  if (!bytes.equals(contentsOf(file, version)))
    throw new Error(`${path} has ${bytes.length} bytes, which is not version ${version}`);
  return version;
}

/** Writes the same files over and over, several writes at a time, and remembers which versions can be there. */
class Rewriting {
  readonly directory: string;
  readonly sent: number[] = Array.from({ length: FILES }, () => 0);
  readonly answered: number[] = Array.from({ length: FILES }, () => 0);
  answers = 0;

  constructor(directory: string) {
    this.directory = directory;
    for (const name of readdirSync(directory)) rmSync(`${directory}/${name}`);
    for (let file = 0; file < FILES; file += 1) writeFileSync(this.#path(file), contentsOf(file, 0));
  }

  #path(file: number): string {
    return `${this.directory}/f${file}`;
  }

  /** Continues until `onAnswer` stops it or the connection is lost. */
  async run(client: SessionClient, random: SeededRandom, onAnswer: () => boolean): Promise<void> {
    let over = false;
    const lane = async (): Promise<void> => {
      while (!over) {
        const file = random.between(0, FILES - 1);
        const version = (this.sent[file] ?? 0) + 1;
        this.sent[file] = version;
        await writeFile(client, this.#path(file), contentsOf(file, version));
        this.answered[file] = Math.max(this.answered[file] ?? 0, version);
        this.answers += 1;
        over ||= onAnswer();
      }
    };
    const lanes = Array.from({ length: WRITES_IN_FLIGHT }, () =>
      lane().catch((error: unknown) => {
        if (!(error instanceof ConnectionLost)) throw error;
      }),
    );
    await withDeadline(
      Promise.all(lanes),
      ROUND_DEADLINE_MS,
      () => `the writes, ${this.answers} answers so far`,
    );
  }

  /** Each file is whole, and no older than what was acknowledged. */
  look(context: string): void {
    for (let file = 0; file < FILES; file += 1) {
      const least = this.answered[file] ?? 0;
      const version = versionIn(this.#path(file), file);
      expect(version, `${context}, file ${file}`).toBeGreaterThanOrEqual(least);
      expect(version, `${context}, file ${file}`).toBeLessThanOrEqual(this.sent[file] ?? 0);
    }
    const names = Array.from({ length: FILES }, (_, file) => `f${file}`);
    const others = readdirSync(this.directory).filter((name) => !names.includes(name));
    // Killed between giving the new file a name and the rename, the server leaves it under that name; but whole.
    expect(others.length, context).toBeLessThanOrEqual(1);
    for (const name of others) {
      const file = Number(/^file (\d+)/.exec(readFileSync(`${this.directory}/${name}`, "latin1"))?.[1]);
      expect(versionIn(`${this.directory}/${name}`, file), context).toBeLessThanOrEqual(this.sent[file] ?? 0);
    }
  }
}

async function writeUntilKilled(disk: MountedTmpfs, random: SeededRandom): Promise<number> {
  const killAfter = random.between(1, MAX_ANSWERS_BEFORE_KILL);
  const rewriting = new Rewriting(disk.path);
  await using server = await startServer();
  const client = await openSession(server.url);
  await rewriting.run(client, random, () => {
    if (rewriting.answers !== killAfter) return false;
    // Right after an answer the server is always at the same point.
    spin(random.next() * MAX_SPIN_MS);
    process.kill(server.pid, "SIGKILL");
    return true;
  });
  await server.exited;
  rewriting.look(`seed ${runSeed}, killed after answer ${killAfter}`);
  return rewriting.answers;
}
