/** What differs from run to run, and the example that the page shows for it. */
const EXAMPLES: readonly (readonly [RegExp, string])[] = [
  [/\b\d+s ago/g, "2s ago"],
  // Ages in the table of `ps`.
  [/^(\S+ +(?:running|exited \d+, 2s ago) +)\d+s/gm, "$12s"],
  // The summary of `cp`.
  [/ in \d+s, [\d.]+ \w+\/s$/gm, " in 1s, 9 B/s"],
  [/127\.0\.0\.1:\d{5}/g, "127.0.0.1:38977"],
  [/pid \d+/g, "pid 4711"],
  [/("(?:user|system)": ?)[\d.]+/g, "$11.5"],
  [/,?\s*"peakMemoryBytes": ?\d+/g, ""],
  [/exec-server \d+\.\d+\.\d+/g, "exec-server 0.1.0"],
  [/[ \t]+$/gm, ""],
];

/** Makes the text of a screen the same on every machine. */
export function scrub(text: string, root: string): string {
  const home = text.replaceAll(`${root}/here`, "/home/ann").replaceAll(`${root}/build`, "/home/ann");
  return EXAMPLES.reduce((scrubbed, [pattern, example]) => scrubbed.replace(pattern, example), home);
}
