import { createHash } from "node:crypto";
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uriFromPath } from "../../src/base/file-uri.ts";
import { connect } from "../../src/client/host/connect.ts";
import { sandboxContext } from "../../src/protocol/sandbox-options.ts";
import { type ListeningServer, serve, type ServeOptions } from "../../src/server/index.ts";
import { pollUntil } from "../fault/deadline.ts";
import { createAuthority } from "../fixtures/certificates.ts";
import { everyMethod } from "./every-method.ts";
import { openSocket, type RawClient } from "./raw-client.ts";

// Users that every Debian system has.
const GAMES = { uid: 5, gid: 60 };
const ROOT = { uid: 0, gid: 0 };
const SECRET = "what only root may read";
const DEADLINE_MS = 60_000;

let directory: string;
/** Belongs to the user `games`. */
let home: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "run-as-"));
  await chmod(directory, 0o755);
  home = join(directory, "home");
  await mkdir(home);
  await chown(home, GAMES.uid, GAMES.gid);
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

/** Serves tokens that are their own names, each with these lines of its table. */
async function open(
  tokens: Readonly<Record<string, string>>,
  options: ServeOptions = {},
): Promise<ListeningServer> {
  const path = join(directory, "tokens.toml");
  const hash = (token: string): string => createHash("sha256").update(token).digest("hex");
  const entries = Object.entries(tokens).map(
    ([name, lines]) => `[[token]]\nname = "${name}"\nsha256 = "${hash(name)}"\n${lines}\n`,
  );
  await writeFile(path, entries.join("\n"), { mode: 0o600 });
  return serve({
    environment: { PATH: process.env["PATH"], SERVER_ONLY: SECRET },
    authentication: { mode: "token-table", path },
    ...options,
  });
}

/** What `everyMethod` works on. */
async function prepare(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await mkdir(join(path, "doomed"), { recursive: true });
  await writeFile(join(path, "file"), "text", { mode: 0o644 });
  await writeFile(join(path, "old"), "text");
  await symlink("file", join(path, "link"));
  for (const name of ["doomed", "file", "old", "link"]) await lchown(join(path, name), uid, gid);
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

const AS_GAMES = 'preset = "full"\nrun_as = "games"';
const AS_DAEMON = 'preset = "full"\nrun_as = 1';

const REPORT = `
grep -E '^(Uid|Gid|Groups|Cap[IPEA]|NoNewPrivs)' /proc/self/status
for fd in /proc/self/fd/*; do echo "fd $(basename $fd)"; done
env
pwd
`;

const IDS = (uid: number, gid: number): string[] => [
  `Uid:\t${uid}\t${uid}\t${uid}\t${uid}`,
  `Gid:\t${gid}\t${gid}\t${gid}\t${gid}`,
  // No other groups, in particular none of root's.
  `Groups:\t${gid} `,
  ...["CapInh", "CapPrm", "CapEff", "CapAmb"].map((set) => `${set}:\t0000000000000000`),
];

/** Everything that a process prints, however it was started. */
async function outputOf(client: RawClient, processId: string): Promise<string> {
  const chunks: Buffer[] = [];
  for (let after = 0; ; ) {
    const { result, error } = await client.call("process/read", {
      processId,
      afterSeq: after,
      waitMs: 1_000,
    });
    if (error !== undefined) throw new Error(error.message);
    const {
      chunks: read,
      nextSeq,
      closed,
    } = result as unknown as {
      chunks: readonly { chunk: string }[];
      nextSeq: number;
      closed: boolean;
    };
    chunks.push(...read.map(({ chunk }) => Buffer.from(chunk, "base64")));
    if (closed) return Buffer.concat(chunks).toString();
    after = nextSeq - 1;
  }
}

const START = { cwd: "file:///", tty: false, pipeStdin: false, arg0: null };
/** Inherits what the server has. */
const ENV = {
  env: {},
  envPolicy: { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
};

/** Every way to start a process, by the parameters that make it. */
const FORMS: Readonly<Record<string, object>> = {
  "on pipes": {},
  "on a terminal": { tty: true },
  kept: { keep: { name: "kept" } },
  limited: { limits: { openFiles: 64, processes: 10_000 } },
  contained: { contain: true },
  "in a sandbox": { sandbox: sandboxContext("read-only", "file:///") },
};

describe.runIf(process.getuid?.() === 0)("a token that runs as another user", () => {
  it("is that user in every form of a process, with nothing of the server", async () => {
    await using server = await open({ ann: AS_GAMES });
    await using client = await openSocket(server.url, "ann");
    for (const [form, params] of Object.entries(FORMS)) {
      const started = { ...START, ...ENV, processId: form, argv: ["sh", "-c", REPORT], ...params };
      expect(await client.call("process/start", started), form).not.toHaveProperty("error");
      const lines = (await outputOf(client, form)).split(/\r?\n/);
      expect(lines, form).toEqual(expect.arrayContaining(IDS(GAMES.uid, GAMES.gid)));
      expect(lines, form).toContain(`NoNewPrivs:\t${form === "in a sandbox" ? 1 : 0}`);
      // The last one is that of the shell's own listing.
      expect(
        lines.filter((line) => line.startsWith("fd ")),
        form,
      ).toEqual(["fd 0", "fd 1", "fd 2", "fd 3"]);
      expect(lines, form).toEqual(
        expect.arrayContaining(["HOME=/usr/games", "USER=games", "LOGNAME=games", "SHELL=/bin/sh"]),
      );
      expect(lines.join("\n"), form).not.toContain(SECRET);
    }
  });

  it("is that user in a process of the older dialect", async () => {
    await using server = await open({ ann: AS_GAMES });
    await using client = await openSocket(server.url, "ann");
    const script = `id -u > ${home}/made`;
    await client.call("command/exec", { argv: ["sh", "-c", script], cwd: "file:///", env: {}, tty: false });
    const made = join(home, "made");
    await pollUntil(
      async () => (await textOf(made)) === "5\n",
      DEADLINE_MS,
      () => made,
    );
    expect((await stat(made)).uid).toBe(GAMES.uid);
  });

  it("sees its own home, and passes much data in both directions", async () => {
    await using server = await open({ ann: AS_GAMES });
    await using host = await connect(server.url, { token: "ann" });
    expect(host.environment).toMatchObject({ userHomeDir: "file:///usr/games", cwd: "file:///usr/games" });
    const data = Buffer.from("0123456789\u00e4\n".repeat(250_000));
    await host.files.write(join(home, "large"), data);
    expect(Buffer.from(await host.files.read(join(home, "large"))).equals(data)).toBe(true);
    const { stdoutBytes } = await host.run(["cat"], { input: data, maxOutputBytes: data.length });
    expect(Buffer.from(stdoutBytes).equals(data)).toBe(true);
  });

  it.each(["full", "sandboxed", "files"])(
    "makes and changes files as that user with the preset %s, by every method",
    async (preset) => {
      const confining = {
        full: "",
        sandboxed: `policy = { write = [${JSON.stringify(home)}] }`,
        files: `roots = [${JSON.stringify(home)}]`,
      }[preset];
      await prepare(home, GAMES);
      await using server = await open({ ann: `preset = "${preset}"\nrun_as = "games"\n${confining}` });
      await using client = await openSocket(server.url, "ann");
      const answers: string[] = [];
      for (const [method, [, params]] of Object.entries(everyMethod(uriFromPath(home))))
        if (!method.endsWith("/terminate"))
          answers.push(`${method}: ${JSON.stringify(await client.call(method, params)).slice(0, 200)}`);
      const names = ["written", "directory", "copy", "link", "renamed"];
      const made = [...names, ...(preset === "files" ? [] : ["process", "command"])];
      for (const name of made)
        await pollUntil(
          async () => (await readdir(home)).includes(`made-${name}`),
          DEADLINE_MS,
          () => `${name}; the answers were\n${answers.join("\n")}`,
        );
      for (const name of await readdir(home)) expect((await lstat(join(home, name))).uid).toBe(GAMES.uid);
    },
  );

  it("reads and changes nothing of root by any method, nor through links and /proc", async () => {
    const secret = join(directory, "secret");
    await prepare(secret, ROOT);
    await writeFile(join(secret, "file"), SECRET);
    await chmod(join(secret, "file"), 0o640);
    await writeFile(join(secret, "SKILL.md"), SECRET);
    await chmod(secret, 0o700);
    await symlink(secret, join(home, "way"));
    const before = (await readdir(secret)).toSorted();
    await using server = await open({ ann: AS_GAMES });
    await using client = await openSocket(server.url, "ann");
    const answers: string[] = [];
    const uris = [
      secret,
      join(home, "way"),
      `/proc/self/root${secret}`,
      `/proc/${process.pid}/cwd/../..${secret}`,
    ];
    for (const uri of uris.map((path) => uriFromPath(path)))
      for (const [method, [, params]] of Object.entries(everyMethod(uri)))
        answers.push(JSON.stringify((await client.call(method, params)).result ?? ""));
    const seen = Buffer.from(SECRET).toString("base64").slice(0, 16);
    for (const answer of answers) {
      expect(answer).not.toContain(SECRET);
      expect(answer).not.toContain(seen);
      expect(answer).not.toContain("SKILL.md");
    }
    expect((await readdir(secret)).toSorted()).toEqual(before);
    expect((await stat(join(secret, "file"))).mode & 0o777).toBe(0o640);
  });

  it("cannot read the tokens, the key and the records of its server, nor look into the server", async () => {
    const audit = join(directory, "audit.jsonl");
    using authority = createAuthority();
    // Where others may look, so that the file itself has to refuse.
    await chmod(authority.directory, 0o755);
    const { cert, key } = authority.issue("server");
    await using server = await open(
      { ann: AS_GAMES },
      {
        listen: "wss://127.0.0.1:0",
        tls: { cert, key },
        audit: { file: audit },
      },
    );
    await using host = await connect(server.url, { token: "ann", ca: authority.ca });
    const own = await host.run(["sh", "-c", "cat /proc/$PPID/environ; ls /proc/$PPID/fd"], { check: false });
    expect(own.stdout).toBe("");
    const { pid } = process;
    const paths = [audit, key, join(directory, "tokens.toml"), `/proc/${pid}/environ`, `/proc/${pid}/mem`];
    for (const path of paths) {
      await expect(host.files.read(path)).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
      expect((await host.run(["cat", path], { check: false })).exitCode).toBe(1);
    }
    await expect(host.files.list(`/proc/${pid}/fd`)).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    expect((await host.run(["sh", "-c", `kill -9 ${pid}`], { check: false })).exitCode).toBe(1);
  });

  it("shares nothing with a token of another user, and keeps its processes for the next connection", async () => {
    await using server = await open({
      ann: AS_GAMES,
      bob: `${AS_DAEMON}\nsee = ["*"]\ncontrol = ["*"]`,
    });
    await using bob = await connect(server.url, { token: "bob" });
    const before = await connect(server.url, { token: "ann" });
    const kept = await before.start(["sh", "-c", "echo here; exec sleep 300"], { keep: "job" });
    await before.files.write(join(home, "private"), "text", { mode: 0o600 });
    await before.close();
    expect(await bob.processes({ scope: "kept" })).toEqual([]);
    await expect(bob.attachKept("job")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await bob.run(["sh", "-c", `kill ${kept.pid}`], { check: false })).exitCode).toBe(1);
    await expect(bob.files.read(join(home, "private"))).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    await expect(bob.files.write(join(home, "other"), "text")).rejects.toMatchObject({
      code: "PERMISSION_DENIED",
    });
    await using after = await connect(server.url, { token: "ann" });
    const again = await after.attachKept("job", { mode: "control" });
    await again.terminate();
    expect((await again.exited).exitCode).not.toBe(0);
  });
});
