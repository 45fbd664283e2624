import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CODEX_VERSION, CODEX_VERSIONS, installCodex } from "./install-codex.mjs";

const USAGE = `Usage: npm run conformance -- [options] [filter...]

Runs the conformance suite: without options on this project's server (websocket, stdio, in memory, command line) and on
the real codex exec-server, which is installed into .cache/codex when it is missing.

  --target <ws://IP:PORT>  run on this server, already running, instead
  --targets <a,b>          only these of ours-ws, ours-stdio, ours-lines (stdio without a process of its own), ours-memory,
                           ours-cli, codex-ws, codex-stdio, codex-cli
  --codex <version>        only an older release of the real server, and what holds for it
  --no-build               use dist/cli.js as it is
  --help                   show this text

A filter is a part of a test file's name. CODEX_EXEC_SERVER=<binary> names another real server.
`;

const root = fileURLToPath(new URL("..", import.meta.url));

function main() {
  let args;
  try {
    args = parseArgs({
      allowPositionals: true,
      options: {
        target: { type: "string" },
        targets: { type: "string" },
        codex: { type: "string" },
        "no-build": { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = args;
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.target !== undefined && (values.targets !== undefined || !/^wss?:\/\//.test(values.target))) {
    console.error(`--target takes a ws:// URL and excludes --targets\n\n${USAGE}`);
    return 2;
  }
  const env = { ...process.env };
  if (values.target !== undefined) env.TARGET = values.target;
  if (values.targets !== undefined) env.CONFORMANCE_TARGETS = values.targets;
  if (values.codex !== undefined) {
    const older = CODEX_VERSIONS.slice(1);
    if (!older.includes(values.codex)) {
      console.error(`--codex takes one of ${older.join(", ")}\n\n${USAGE}`);
      return 2;
    }
    installCodex(values.codex);
    env.CONFORMANCE_TARGETS = ["ws", "stdio", "cli"]
      .map((carrier) => `codex-${values.codex}-${carrier}`)
      .join(",");
  }
  if (env.TARGET === undefined) {
    const wanted = (env.CONFORMANCE_TARGETS ?? "ours,codex").split(",");
    const versions = env.CONFORMANCE_TARGETS === undefined ? CODEX_VERSIONS : [CODEX_VERSION];
    if (wanted.some((name) => /^codex(-\D|$)/.test(name)))
      for (const version of versions) installCodex(version);
    if (!values["no-build"] && wanted.some((name) => name.startsWith("ours"))) {
      const built = run([join(root, "scripts", "build.mjs"), "--cli-only"], env);
      if (built !== 0) return built;
    }
  }
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  // The tests mostly wait, so more files run at a time than there are cores.
  return run([vitest, "run", "--project", "conformance", "--maxWorkers=4", ...positionals], env);
}

function run(args, env) {
  return spawnSync(process.execPath, args, { cwd: root, env, stdio: "inherit" }).status ?? 1;
}

try {
  process.exitCode = main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
