const TYPES: Record<string, string> = { directory: "d", link: "l", file: "-", other: "?" };
const LETTERS = ["r", "w", "x"];

/** Kind and permissions as `ls -l` shows them: `-rw-r--r--`. */
export function formatMode(kind: string, mode: number): string {
  let text = TYPES[kind] ?? "?";
  for (let bit = 8; bit >= 0; bit--) text += mode & (1 << bit) ? LETTERS[(8 - bit) % 3] : "-";
  if (mode & 0o4000) text = replaceAt(text, 3, text[3] === "x" ? "s" : "S");
  if (mode & 0o2000) text = replaceAt(text, 6, text[6] === "x" ? "s" : "S");
  if (mode & 0o1000) text = replaceAt(text, 9, text[9] === "x" ? "t" : "T");
  return text;
}

function replaceAt(text: string, index: number, letter: string): string {
  return text.slice(0, index) + letter + text.slice(index + 1);
}

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short", year: "numeric" });

/** When something was changed: today as a time, this year as a day. */
export function formatDate(date: Date, now = new Date()): string {
  if (date.toDateString() === now.toDateString()) return time.format(date);
  return date.getFullYear() === now.getFullYear() ? day.format(date) : year.format(date);
}
