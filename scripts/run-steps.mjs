import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OPTIONS = { cwd: ROOT, env: { ...process.env, PATH: `${ROOT}node_modules/.bin:${process.env.PATH}` } };

/**
 * A step says what it does in words, because that is what is read when it fails.
 * @typedef {{ readonly name: string, readonly command: readonly string[] }} Step
 */

/**
 * Runs commands one after another, and all of them: a failure hides no other result. Returns the steps that failed.
 * @param {readonly Step[]} steps
 */
export function runSteps(steps) {
  return steps.filter((step) => !succeeds(step));
}

/**
 * Runs commands that later ones depend on. Exits at the first that fails.
 * @param {readonly Step[]} steps
 */
export function requireSteps(steps) {
  for (const step of steps) if (!succeeds(step)) process.exit(1);
}

/**
 * Runs commands that do not depend on each other, as many at once as there are cores, and prints the output of each
 * when it has ended. Returns the steps that failed.
 * @param {readonly Step[]} steps
 */
export async function runSideBySide(steps) {
  const waiting = [...steps];
  /** @type {Step[]} */
  const failed = [];
  const lane = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const started = performance.now();
      const { status, output } = await run(step.command);
      console.log(`\n== ${step.name}`);
      process.stdout.write(output);
      if (!report(step, status, started)) failed.push(step);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
  return failed;
}

/**
 * Repeats which steps failed, and makes the program fail if any did.
 * @param {readonly Step[]} failed
 */
export function conclude(failed) {
  for (const { name, command } of failed) console.error(`failed: ${name} (${command.join(" ")})`);
  if (failed.length > 0) process.exitCode = 1;
}

/** @param {Step} step */
function succeeds(step) {
  const [program, ...args] = step.command;
  console.log(`\n== ${step.name}`);
  const started = performance.now();
  const { status, error } = spawnSync(program, args, { ...OPTIONS, stdio: "inherit" });
  if (error !== undefined) console.error(`cannot run ${program}: ${error.message}`);
  return report(step, status, started);
}

/**
 * @param {readonly string[]} command
 * @returns {Promise<{ status: number | null, output: string }>}
 */
function run([program, ...args]) {
  const child = spawn(program, args, { ...OPTIONS, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  return new Promise((resolve) => {
    child.once("error", ({ message }) =>
      resolve({ status: null, output: `cannot run ${program}: ${message}\n` }),
    );
    child.once("close", (status) => resolve({ status, output }));
  });
}

/**
 * @param {Step} step
 * @param {number | null} status
 * @param {number} started
 */
function report({ name, command }, status, started) {
  if (status !== 0) console.error(`\nfailed: ${name} (${command.join(" ")})`);
  console.log(`   ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return status === 0;
}
