import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const OF_ROOT_ONLY = 4;
const OF_GAMES_TOO = 54_321;
const REPORT = `
import { findAccount } from "./account.ts";
import { becomeUser } from "./user-switch.ts";
becomeUser(findAccount(process.argv[1]));
console.log(JSON.stringify({ user: process.getuid(), group: process.getgid(), groups: process.getgroups() }));
`;

let directory: string;
/** A list of groups like the system's, in which `games` has one more. */
let groups: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "user-switch-"));
  groups = join(directory, "group");
  await writeFile(groups, `${await readFile("/etc/group", "utf8")}\nplayers:x:${OF_GAMES_TOO}:games\n`);
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

/** State of a root program, with its own group, after it has become that user. */
async function become(user: string): Promise<unknown> {
  const { outputFiles } = await build({
    stdin: { contents: REPORT, resolveDir: fileURLToPath(new URL(".", import.meta.url)), loader: "ts" },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    write: false,
    logLevel: "silent",
  });
  const [script] = outputFiles;
  // Only this program sees the other list.
  const view = 'mount --bind "$1" /etc/group && shift && exec "$@"';
  const program = [process.execPath, "--input-type=module", "-e", script?.text ?? "", user];
  const asRoot = ["setpriv", "--groups", `0,${OF_ROOT_ONLY}`, ...program];
  const { stdout } = await run("unshare", ["-m", "sh", "-c", view, "sh", groups, ...asRoot], {
    cwd: PACKAGE,
  });
  return JSON.parse(stdout);
}

describe.runIf(process.getuid?.() === 0)("a program that becomes another user", () => {
  it("has exactly the groups that the system lists for that user", async () => {
    expect(await become("games")).toEqual({ user: 5, group: 60, groups: [60, OF_GAMES_TOO] });
    expect(await become("daemon")).toEqual({ user: 1, group: 1, groups: [1] });
  });
});
