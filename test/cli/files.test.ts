import { chmod, mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";

let line: CommandLine;
beforeAll(async () => {
  line = await CommandLine.start();
  const tree = join(line.directory, "tree");
  await mkdir(join(tree, "sub"), { recursive: true });
  await writeFile(join(tree, "a.txt"), "alpha\n");
  await writeFile(join(tree, ".hidden"), "");
  await writeFile(join(tree, "evil\u001b[31m\nname"), "x".repeat(2000));
  await chmod(join(tree, "a.txt"), 0o640);
  await utimes(join(tree, "a.txt"), new Date("2024-03-04T05:06:00Z"), new Date("2024-03-04T05:06:00Z"));
  await symlink("nowhere", join(tree, "link"));
});
afterAll(async () => line?.[Symbol.asyncDispose]());

test.concurrent("ls escapes names on a terminal that does not know its width", async () => {
  const { stdout } = await line.runInTerminal(`exec-server ls ${line.directory}/tree`, 0, {
    env: { NO_COLOR: "1" },
  });
  expect(stdout).toContain("evil\\x1b[31m\\nname");
  expect(stdout).not.toContain("\u001b[31m");
});

test.concurrent("ls prints names for programs, one on each line", async () => {
  expect(await line.run(`exec-server ls ${line.directory}/tree`)).toEqual({
    status: 0,
    stdout: "a.txt\nevil\u001b[31m\nname\nlink\nsub\n",
    stderr: "",
  });
});

test.concurrent("ls shows names to people in columns, with controls escaped", async () => {
  const { stdout } = await line.runInTerminal(`exec-server ls ${line.directory}/tree`, 60, {
    env: { NO_COLOR: "1" },
  });
  expect(stdout).not.toContain("\u001b");
  expect(stdout.split("\n").every((text) => text.length <= 60)).toBe(true);
  expect(stdout).toContain("evil\\x1b[31m\\nname");
  expect(stdout).toContain("sub/");
});

test.concurrent("ls -l shows mode, size, time and where a link leads", async () => {
  const { stdout } = await line.run(`exec-server ls -l ${line.directory}/tree`, { env: { TZ: "UTC" } });
  const lines = stdout.trimEnd().split("\n");
  expect(lines[0]).toBe("-rw-r-----      6 B  2024-03-04 05:06  a.txt");
  expect(lines[1]).toMatch(/^-rw-r--r--  2\.0 KiB  \d{4}-\d\d-\d\d \d\d:\d\d  evil\\x1b\[31m\\nname$/);
  expect(lines[2]).toMatch(/^lrwxrwxrwx      7 B  \d{4}-\d\d-\d\d \d\d:\d\d  link -> nowhere$/);
  expect(lines[3]).toMatch(/^drwxr-xr-x /);
});

test.concurrent("ls shows files that are named together, before directories", async () => {
  const files = "cd tree; exec-server ls -l $PWD/sub $PWD/a.txt $PWD/.hidden $PWD/sub";
  const { stdout } = await line.run(files, { env: { TZ: "UTC" } });
  const tree = `${line.directory}/tree`;
  expect(stdout.replaceAll(/^(\S+ +\d B).{20}/gm, "$1")).toBe(
    `-rw-r-----  6 B${tree}/a.txt\n-rw-r--r--  0 B${tree}/.hidden\n\n${tree}/sub:\n\n${tree}/sub:\n`,
  );
});

test.concurrent("ls -a shows hidden names, and a file that is named is always shown", async () => {
  expect((await line.run(`exec-server ls -a ${line.directory}/tree`)).stdout).toContain(".hidden\n");
  expect((await line.run(`exec-server ls ${line.directory}/tree/.hidden`)).stdout).toBe(
    `${line.directory}/tree/.hidden\n`,
  );
});

test.concurrent("ls --json prints one document for several paths", async () => {
  const { stdout } = await line.run(
    `exec-server ls --json ${line.directory}/tree :${line.directory}/tree/a.txt`,
  );
  const document = JSON.parse(stdout) as Record<string, unknown>[];
  expect(document).toHaveLength(5);
  expect(document[0]).toEqual({
    name: "a.txt",
    path: `${line.directory}/tree/a.txt`,
    kind: "file",
    size: 6,
    mode: "0640",
    modified: "2024-03-04T05:06:00.000Z",
  });
});

test.concurrent("ls continues after a path that fails, and ends with 1", async () => {
  expect(await line.run(`exec-server ls nope ${line.directory}/tree/sub`)).toEqual({
    status: 1,
    stdout: `${line.directory}/tree/sub:\n`,
    stderr: "exec-server: nope: no such file or directory\n",
  });
});

test.concurrent("cat prints files one after another, and says which it cannot read", async () => {
  const tree = `${line.directory}/tree`;
  expect(await line.run(`exec-server cat ${tree}/a.txt ${tree}/nope :${tree}/a.txt`)).toEqual({
    status: 1,
    stdout: "alpha\nalpha\n",
    stderr: `exec-server: ${tree}/nope: no such file or directory\n`,
  });
  expect((await line.run(`exec-server cat ${tree}`)).stderr).toBe(`exec-server: ${tree}: is not a file\n`);
});

test.concurrent("cat ends quietly with its reader, and says why stdout takes nothing", async () => {
  await writeFile(join(line.directory, "large"), Buffer.alloc(5_000_000, "line\n"));
  expect(await line.run(`exec-server cat ${line.directory}/large | head -1; echo \${PIPESTATUS[0]}`)).toEqual(
    {
      status: 0,
      stdout: "line\n141\n",
      stderr: "",
    },
  );
  expect(await line.run(`exec-server cat ${line.directory}/large > /dev/full`)).toEqual({
    status: 1,
    stdout: "",
    stderr: "exec-server: cannot write to stdout: No space left on device (os error 28)\n",
  });
});
