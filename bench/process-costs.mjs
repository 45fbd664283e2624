import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const CLOCK_TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;

function statFields(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name may contain blanks and parentheses; the fields after it do not.
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** CPU time of the process and all its threads, without its children. */
export function cpuSeconds(pid) {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

/** Nanoseconds that all threads of a process have run, as the scheduler counts them: finer than `cpuSeconds`. */
export function scheduledNanoseconds(pid) {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return total;
}

/** CPU time of children that have ended and were waited for. */
export function childrenCpuSeconds() {
  const fields = statFields("self");
  return (Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS_PER_SECOND;
}

/** All descendants of `pid`, as `{pid, argv}`. */
export function descendants(pid) {
  const parents = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(statFields(name)[1]));
    } catch {
      // It ended between listing and reading.
    }
  }
  const processes = [];
  const queue = [pid];
  for (let parent = queue.pop(); parent !== undefined; parent = queue.pop()) {
    for (const [child, of] of parents) {
      if (of !== parent) continue;
      queue.push(child);
      processes.push({ pid: child, argv: readArgv(child) });
    }
  }
  return processes;
}

function readArgv(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}

const kib = (text, name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)[1]);

/**
 * Memory in MiB of a server and its own helpers. `clientArgv` is what the client asked it to run, which does not count.
 * RSS counts every touched page of Node's program, though other Node processes share them; PSS is what a server really
 * adds.
 */
export function memoryOf(pid, clientArgv = []) {
  const asked = clientArgv.join("\0");
  const own = descendants(pid).filter(({ argv }) => argv.length > 0 && argv.join("\0") !== asked);
  const total = { rss: 0, pss: 0 };
  for (const one of [pid, ...own.map((process) => process.pid)]) {
    const rollup = readFileSync(`/proc/${one}/smaps_rollup`, "utf8");
    total.rss += kib(rollup, "Rss") / KIB_PER_MIB;
    total.pss += kib(rollup, "Pss") / KIB_PER_MIB;
  }
  return total;
}

/** Resets the peak; without permission, the peak is the one since the start. */
export function resetPeak(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch (error) {
    if (error.code !== "EACCES" && error.code !== "EPERM") throw error;
  }
}

export const peakRss = (pid) => kib(readFileSync(`/proc/${pid}/status`, "utf8"), "VmHWM") / KIB_PER_MIB;

/** Bytes that a process has passed to write(2) so far. */
export const bytesWritten = (pid) =>
  Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))[1]);
