// Records which functions run. `instrument.mjs` puts calls of `hit` into a copy of the sources, and the path of the log
// here. All programs append to one file, so that its order is that of time; what runs in a sandbox cannot reach it.
import { openSync, writeSync } from "node:fs";

const LOG = "";
/** Another program than that of the tests records a function once in this time. */
const WINDOW_MS = 64;
/** Tests replace it. */
const { now } = Date;

const seen = new Set();
let until = 0;
let who = "child";
const file = openLog();

/**
 * A function begins.
 * @public instrumented sources import it
 */
export function hit(number) {
  if (who === "child" && now() >= until) {
    seen.clear();
    until = now() + WINDOW_MS;
  }
  if (seen.has(number)) return;
  seen.add(number);
  write(`${who} ${number}`);
}

/** A test begins or ends, which only its own program knows. */
export function mark(text) {
  who = "tests";
  seen.clear();
  write(text);
}

function openLog() {
  try {
    return openSync(LOG, "a", 0o666);
  } catch {
    return undefined;
  }
}

function write(text) {
  try {
    if (file !== undefined) writeSync(file, `${now()} ${text}\n`);
  } catch {
    // A full disk, or no more descriptors: that is what the test is about.
  }
}
