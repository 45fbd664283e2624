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
 * Runs commands one after another and stops at the first that fails.
 * @param {readonly Step[]} steps
 */
export function runSteps(steps) {
  for (const step of steps) {
    const [program, ...args] = step.command;
    console.log(`\n== ${step.name}`);
    const started = performance.now();
    const { status, error } = spawnSync(program, args, { ...OPTIONS, stdio: "inherit" });
    if (error !== undefined) console.error(`cannot run ${program}: ${error.message}`);
    if (status !== 0) fail(step);
    console.log(secondsSince(started));
  }
}

/**
 * Runs commands that do not depend on each other, as many at once as there are cores, and prints what each has printed
 * when it has ended. Stops when one has failed.
 * @param {readonly Step[]} steps
 */
export async function runSideBySide(steps) {
  const waiting = [...steps];
  const lane = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const started = performance.now();
      const { status, output } = await run(step.command);
      console.log(`\n== ${step.name}`);
      process.stdout.write(output);
      if (status !== 0) fail(step);
      console.log(secondsSince(started));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
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

/** @param {Step} step */
function fail({ name, command }) {
  console.error(`\nfailed: ${name} (${command.join(" ")})`);
  process.exit(1);
}

/** @param {number} started */
function secondsSince(started) {
  return `   ${((performance.now() - started) / 1000).toFixed(1)} s`;
}
