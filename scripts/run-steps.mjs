import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Runs commands one after another and stops at the first that fails. A step says what it does in words, because that is what is read
 * when it fails.
 * @param {readonly { name: string, command: readonly string[] }[]} steps
 */
export function runSteps(steps) {
  for (const { name, command } of steps) {
    const [program, ...args] = command;
    console.log(`\n== ${name}`);
    const started = performance.now();
    const path = `${ROOT}node_modules/.bin:${process.env.PATH}`;
    const { status, error } = spawnSync(program, args, {
      cwd: ROOT,
      stdio: "inherit",
      env: { ...process.env, PATH: path },
    });
    if (error !== undefined) console.error(`cannot run ${program}: ${error.message}`);
    if (status !== 0) {
      console.error(`\nfailed: ${name} (${command.join(" ")})`);
      process.exit(1);
    }
    console.log(`   ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
}
