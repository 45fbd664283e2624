// Runs the commands of docs/guide/command-line.md in a terminal and writes their output into the page. Each line that
// begins with `$ ` in a `console` block is run; what it prints follows it. With `--check` it writes nothing and fails if
// a command prints something else than the page shows.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = join(ROOT, "docs/guide/command-line.md");
const BLOCK = /^```console\n([\s\S]*?)^```$/gm;
const COLUMNS = 100;
const TIMEOUT_MS = 60_000;

const home = mkdtempSync("/var/tmp/exec-server-page-");

/** A home with a project in it, and a runtime directory for the user's own server. */
function prepare() {
  for (const name of ["bin", "project", "project/src"]) mkdirSync(join(home, name));
  mkdirSync(join(home, "runtime"), { mode: 0o700 });
  symlinkSync(join(ROOT, "dist/cli.js"), join(home, "bin/exec-server"));
  const date = new Date("2026-01-02T03:04:00Z");
  const files = {
    "notes.txt": "buy milk\n",
    "build.sh": "#!/bin/sh\necho built\n",
    "src/main.c": "int main;\n",
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(home, "project", name);
    writeFileSync(path, text);
    chmodSync(path, name.endsWith(".sh") ? 0o755 : 0o644);
    utimesSync(path, date, date);
  }
  chmodSync(join(home, "project/src"), 0o755);
  utimesSync(join(home, "project/src"), date, date);
}

const environment = {
  PATH: `${join(home, "bin")}:/usr/local/bin:/usr/bin:/bin`,
  HOME: home,
  XDG_RUNTIME_DIR: join(home, "runtime"),
  SHELL: "/bin/bash",
  TERM: "xterm",
  LANG: "C.UTF-8",
  TZ: "UTC",
  NO_COLOR: "1",
};

/** Runs a line in a shell on a terminal. */
function runLine(line) {
  const script = `stty cols ${COLUMNS} rows 40 -onlcr; ${line}`;
  const { stdout, status, error } = spawnSync("script", ["-qec", script, "/dev/null"], {
    cwd: join(home, "project"),
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  if (error !== undefined || status === null) throw new Error(`${line}: ${error ?? "it was ended"}`);
  return normalised(stdout);
}

/** What differs from run to run is shown as one example. A line that was written again counts as it was at the end. */
function normalised(text) {
  return text
    .replace(/^[^\n]*\r(?=[^\n])/gm, "")
    .replaceAll("\r", "")
    .replaceAll("\u001b[K", "")
    .replaceAll(home, "/home/ann")
    .replace(/\b\d+s ago/g, "2s ago")
    .replace(/^(\S+ +(?:running|exited \d+, 2s ago) +)\d+s/gm, "$12s")
    .replace(/ in \d+s, [\d.]+ \w+\/s$/gm, " in 1s, 9 B/s")
    .replace(/127\.0\.0\.1:\d{5}/g, "127.0.0.1:38977")
    .replace(/pid \d+/g, "pid 4711")
    .replace(/("(?:user|system)": ?)[\d.]+/g, "$11.5")
    .replace(/,?\s*"peakMemoryBytes": ?\d+/g, "")
    .replace(/[ \t]+$/gm, "");
}

function refreshed(page) {
  return page.replace(BLOCK, (_, block) => {
    const lines = block.split("\n").filter((line) => line.startsWith("$ "));
    const shown = lines.map((line) => {
      const output = runLine(line.slice(2));
      return `${line}\n${output === "" || output.endsWith("\n") ? output : `${output}\n`}`;
    });
    return `\`\`\`console\n${shown.join("")}\`\`\``;
  });
}

prepare();
try {
  const old = readFileSync(PAGE, "utf8");
  const page = refreshed(old);
  if (!process.argv.includes("--check")) writeFileSync(PAGE, page);
  else if (page !== old) {
    console.error("docs/guide/command-line.md is out of date: run `npm run docs:command-line`");
    const before = old.split("\n");
    const after = page.split("\n");
    const at = after.findIndex((line, index) => line !== before[index]);
    console.error(`line ${at + 1}:\n- ${before[at]}\n+ ${after[at]}`);
    process.exitCode = 1;
  }
} finally {
  spawnSync("exec-server", ["stop", "--force"], { env: environment, stdio: "ignore" });
  rmSync(home, { recursive: true, force: true });
}
