const TYPES: Record<string, string> = {
  directory: "d",
  link: "l",
  file: "-",
  pipe: "p",
  socket: "s",
  "block device": "b",
  "character device": "c",
};
const LETTERS = ["r", "w", "x"];
/** Shown in place of an `x`, in upper case without one. */
const SPECIAL_BITS = [
  { bit: 0o4000, at: 3, letter: "s" },
  { bit: 0o2000, at: 6, letter: "s" },
  { bit: 0o1000, at: 9, letter: "t" },
];

/** Kind and permissions as `ls -l` shows them: `-rw-r--r--`. */
export function formatMode(kind: string, mode: number): string {
  let text = TYPES[kind] ?? "?";
  for (let bit = 8; bit >= 0; bit--) text += mode & (1 << bit) ? LETTERS[(8 - bit) % 3] : "-";
  for (const { bit, at, letter } of SPECIAL_BITS)
    if (mode & bit)
      text = text.slice(0, at) + (text[at] === "x" ? letter : letter.toUpperCase()) + text.slice(at + 1);
  return text;
}

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short", year: "numeric" });

/** When something was changed: today as a time, this year as a day. */
export function formatDate(date: Date, now = new Date()): string {
  if (date.toDateString() === now.toDateString()) return time.format(date);
  return date.getFullYear() === now.getFullYear() ? day.format(date) : year.format(date);
}
