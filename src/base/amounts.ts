const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;
const STEP = 1024;

/** A number of bytes for people, such as `712 B`, `1.4 KiB` or `310 MiB`. */
export function formatSize(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  // A value that would round to 1024 belongs to the next unit.
  while (Math.round(amount) >= STEP && unit < UNITS.length - 1) {
    amount /= STEP;
    unit += 1;
  }
  const digits = unit > 0 && amount < 9.95 ? 1 : 0;
  return `${amount.toFixed(digits)} ${UNITS[unit]}`;
}

/** A number of things for people, such as `1 file` or `3 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration for people, with two units at most, such as `4s`, `3m 20s` or `2d 4h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < MINUTE) return `${seconds}s`;
  const [big, unit, small, smallUnit] =
    seconds < HOUR ? [MINUTE, "m", 1, "s"] : seconds < DAY ? [HOUR, "h", MINUTE, "m"] : [DAY, "d", HOUR, "h"];
  const rest = Math.floor((seconds % big) / small);
  const first = `${Math.floor(seconds / big)}${unit}`;
  return rest === 0 ? first : `${first} ${rest}${smallUnit}`;
}
