import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseTokens, rightsFormat } from "../../src/server/access/token-file.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { CommandLine } from "./command-line.ts";
import { startCommand } from "./command.ts";

const TOKEN = /^exs_[\w-]{43}\n$/;
const NOBODY = 65_534;

let line: CommandLine;
beforeAll(async () => {
  line = await CommandLine.start();
});
afterAll(async () => line?.[Symbol.asyncDispose]());

const pathOf = (name: string): string => join(line.directory, name);
const textOf = (name: string): string => readFileSync(pathOf(name), "utf8");

const read = (text: string) =>
  parseTokens(
    "F",
    text,
    rightsFormat({ temporaryDirectory: undefined, logger: silentLogger, hiddenPaths: [], fsRoots: [] }),
  );

it("a token of 'token new' opens the server, one of --rotate too, and 'token retire' ends the older one", async () => {
  const made = await line.run("exec-server token new ann --preset full --table served.toml");
  expect(made).toMatchObject({ status: 0, stdout: expect.stringMatching(TOKEN) as string });
  const socket = pathOf("s");
  const served = startCommand([
    "serve",
    "--listen",
    `unix://${socket}`,
    "--ws-auth",
    "token-table",
    "--ws-token-table",
    pathOf("served.toml"),
  ]);
  try {
    await served.shows("ws+unix");
    const login = async (token: string): Promise<number | null> => {
      const env = { EXEC_SERVER_URL: undefined, EXEC_SERVER_TOKEN: token.trim() };
      return (await line.run(`exec-server --url ws+unix://${socket} run -- true`, { env })).status;
    };
    expect(await login(made.stdout)).toBe(0);
    const rotated = await line.run("exec-server token new ann --rotate --table served.toml");
    expect(rotated).toMatchObject({ status: 0, stdout: expect.stringMatching(TOKEN) as string });
    expect(rotated.stdout).not.toBe(made.stdout);
    await expect.poll(() => login(rotated.stdout), { timeout: 40_000 }).toBe(0);
    expect(await login(made.stdout)).toBe(0);
    expect(await line.run("exec-server token retire ann --table served.toml")).toMatchObject({ status: 0 });
    await expect.poll(() => login(made.stdout), { timeout: 40_000 }).not.toBe(0);
    expect(await login(rotated.stdout)).toBe(0);
  } finally {
    served.child.kill("SIGTERM");
    await served.ended();
  }
});

it("the token goes to stdout alone, and the lines for the table to stderr or into it", async () => {
  const bare = await line.run("exec-server token new ci");
  expect(bare).toMatchObject({ status: 0, stdout: expect.stringMatching(TOKEN) as string });
  expect(bare.stderr).not.toContain(bare.stdout.trim());
  expect(await read(bare.stderr)).toMatchObject([{ name: "ci", rights: { preset: "observe" } }]);

  await line.run("mkdir -p data build conf");
  const files = await line.run(
    "exec-server token new backup --table conf/t.toml --preset files --root data --read-only --limit max_sessions=3",
  );
  const sandboxed = await line.run(
    "exec-server token new ci --table conf/t.toml --preset sandboxed --write build --network --see '*' --expires 2099-01-31 --json",
  );
  expect(files).toMatchObject({ status: 0, stderr: "exec-server: 'backup' was added to conf/t.toml\n" });
  expect(sandboxed).toMatchObject({ status: 0, stderr: "" });
  const { token, lines } = JSON.parse(sandboxed.stdout) as { token: string; lines: string };
  expect(textOf("conf/t.toml")).toContain(lines);
  expect(textOf("conf/t.toml")).not.toContain(token);
  const [backup, ci, ...others] = await read(textOf("conf/t.toml"));
  expect(others).toEqual([]);
  expect(backup).toMatchObject({ name: "backup", expiresAtMs: undefined, rights: { preset: "files" } });
  expect(backup?.rights.files?.roots).toEqual([pathOf("data")]);
  expect(backup?.rights.limits).toEqual({ maxSessions: 3 });
  expect([backup?.rights.allows("readFiles"), backup?.rights.allows("writeFiles")]).toEqual([true, false]);
  expect(ci).toMatchObject({
    name: "ci",
    expiresAtMs: Date.UTC(2099, 0, 31),
    rights: { preset: "sandboxed" },
  });
  expect(ci?.rights.grant("name:anyone")).toBe("follow");

  expect((await line.run("exec-server token list conf/t.toml")).stdout).toBe(
    "NAME    PRESET     TOKENS  EXPIRES\nbackup  files           1  never\nci      sandboxed       1  2099-01-31T00:00Z\n",
  );
  expect(JSON.parse((await line.run("exec-server token list --json conf/t.toml")).stdout)).toEqual([
    { name: "backup", preset: "files", tokens: 1 },
    { name: "ci", preset: "sandboxed", expires: "2099-01-31T00:00:00.000Z", tokens: 1 },
  ]);
  expect(await line.run("exec-server token check conf/t.toml")).toEqual({
    status: 0,
    stdout: "conf/t.toml: 2 tokens, nothing wrong\n",
    stderr: "",
  });
});

it("a token of --output is in a file for its owner alone, and --rotate replaces it there", async () => {
  const make = (flags: string) => line.run(`umask 022; exec-server token new out --table out.toml ${flags}`);
  const made = { status: 0, stdout: "", stderr: "exec-server: 'out' was added to out.toml\n" };
  expect(await make("--output out.token")).toEqual(made);
  const first = textOf("out.token");
  expect(first).toMatch(TOKEN);
  expect(statSync(pathOf("out.token")).mode & 0o777).toBe(0o600);
  expect(await line.run("exec-server token new other --table out.toml --output out.token")).toMatchObject({
    status: 2,
    stderr: "exec-server: out.token exists; remove it, or choose another file\n",
  });
  expect(textOf("out.toml")).not.toContain("other");
  expect(await make("--rotate --output out.token")).toMatchObject({ status: 0, stdout: "" });
  expect(textOf("out.token")).toMatch(TOKEN);
  expect(textOf("out.token")).not.toBe(first);
  expect(await make("--output x --json")).toMatchObject({ status: 2 });
});

it("a name is revoked with all of its tokens, and the rest of the table stays as it is", async () => {
  await line.run("exec-server token new ann --table rest.toml; exec-server token new bob --table rest.toml");
  const before = `# everybody\n\n${textOf("rest.toml")}\n# the end\n`;
  writeFileSync(pathOf("rest.toml"), before);
  await line.run(
    "exec-server token new ci --table rest.toml && exec-server token new ci --rotate --table rest.toml",
  );
  expect((await read(textOf("rest.toml")))[2]?.sha256).toHaveLength(2);
  expect(await line.run("exec-server token revoke ci --table rest.toml")).toEqual({
    status: 0,
    stdout: "",
    stderr: "exec-server: every token of 'ci' is revoked\n",
  });
  expect(textOf("rest.toml")).toBe(before);
  await line.run("exec-server token revoke ann --table rest.toml");
  expect((await read(textOf("rest.toml"))).map(({ name }) => name)).toEqual(["bob"]);
  expect((await line.run("exec-server token revoke bob --table rest.toml")).stderr).toBe(
    "exec-server: every token of 'bob' is revoked; rest.toml has no tokens left, so it admits nobody\n",
  );
  expect(await line.run("exec-server token revoke bob --table rest.toml")).toMatchObject({
    status: 2,
    stderr: "exec-server: rest.toml has no token 'bob'\n",
  });
});

it("a new table is for its owner alone, and one that is there keeps its mode and owner", async () => {
  await line.run("exec-server token new a --table own.toml");
  expect(statSync(pathOf("own.toml")).mode & 0o777).toBe(0o600);
  chmodSync(pathOf("own.toml"), 0o640);
  const asRoot = process.geteuid?.() === 0;
  if (asRoot) chownSync(pathOf("own.toml"), 0, NOBODY);
  await line.run("exec-server token new b --table own.toml");
  const { mode, gid } = statSync(pathOf("own.toml"));
  expect([mode & 0o777, gid]).toEqual([0o640, asRoot ? NOBODY : process.getegid?.()]);
});

it("a token that could not be printed is not in the table, and none of four at once is lost", async () => {
  await line.run("exec-server token new first --table many.toml");
  const before = textOf("many.toml");
  expect(await line.run("exec-server token new lost --table many.toml > /dev/full")).toMatchObject({
    status: 1,
    stderr: "exec-server: cannot write to stdout: No space left on device (os error 28)\n",
  });
  expect(textOf("many.toml")).toBe(before);
  const { status } = await line.run(
    "for n in 1 2 3 4; do exec-server token new n$n --table many.toml & done; wait; ls many.toml.new",
  );
  expect(status).not.toBe(0);
  expect((await read(textOf("many.toml"))).map(({ name }) => name).sort()).toEqual(
    ["first", ...Array.from({ length: 4 }, (_, index) => `n${index + 1}`)].sort(),
  );
});

it("mistakes are one line, and change nothing", async () => {
  const digest = "ab".repeat(32);
  const good = `# mine\n[[token]]\nname = "ci"\nsha256 = "${digest}"\npreset = "full"\n`;
  writeFileSync(pathOf("good.toml"), good);
  writeFileSync(pathOf("bad.toml"), `${good}colour = "red"\n`);
  for (const [args, status, message] of [
    ["new ci --table good.toml", 2, "good.toml has a token 'ci' already; use --rotate to exchange it"],
    ["new ci --rotate", 2, "--rotate needs --table"],
    [
      "new ci --rotate --preset full --table good.toml",
      2,
      "--rotate keeps the rights of 'ci'; change them in good.toml",
    ],
    ["new x --table bad.toml", 2, "bad.toml:6: colour is not a known key"],
    ["check bad.toml", 2, "bad.toml:6: colour is not a known key"],
    ["list none.toml", 2, "cannot read the token table in none.toml: No such file or directory (os error 2)"],
    ["new x --preset files --root . --table good.toml", 2, "contains the server's own file"],
    ["new x --expires 2020-01-01", 2, "That time has passed"],
    ["new x --table /dev/null", 1, "cannot write /dev/null: it is not a regular file"],
  ] as const) {
    const ended = await line.run(`exec-server token ${args}`);
    expect(ended, args).toMatchObject({ status, stdout: "" });
    expect(ended.stderr, args).toMatch(/^exec-server: [^\n]*\n$/);
    expect(ended.stderr, args).toContain(message);
  }
  expect(textOf("good.toml")).toBe(good);
});
