/** What differs from run to run, and the example that the page shows for it. */
const EXAMPLES: readonly (readonly [RegExp, string])[] = [
  // On a busy machine, ssh takes long.
  [/^exec-server: waiting for '[^']*'; Ctrl-C gives up\n/gm, ""],
  [/\b\d+s ago/g, "2s ago"],
  // Ages in the table of `ps`.
  [/^(\S+ +(?:running|exited \d+, 2s ago) +)\d+s/gm, "$12s"],
  // The table of `fleet ls`.
  [/^(NAME +STATE +RUNNING +FREE) +LOAD +VERSION +AGE/gm, "$1  LOAD  VERSION  AGE"],
  [/^(\S+\/\S+ +\w+ +\d+ +\d+) +[\d.]+( +\S+) +\d+s/gm, "$1  0.42$2     2s"],
  // The steps of `host test`.
  [/^ +[\d.]+m?s {2}(?=[a-z])/gm, "    40ms  "],
  [/( answers: version )[\d.]+/g, "$10.1.0"],
  // The summary of `cp`.
  [/ in \d+s, [\d.]+ \w+\/s$/gm, " in 1s, 9 B/s"],
  // The summary of `sync`.
  [/( the same, [\d.]+ \w+) in \d+s$/gm, "$1 in 1s"],
  // The summary of `map`.
  [/^(\d+ rows: .*), in \d+s$/gm, "$1, in 1s"],
  [/127\.0\.0\.1:\d{5}/g, "127.0.0.1:38977"],
  [/#link=[\w-]{43}/g, "#link=kJ3xR0v9mY2hWq7TzLc5PdA8nEfS1uBgXoI6-KtVwHs"],
  [/SHA256:[\w+/=-]{43,}/g, "SHA256:pO3Jq7YVw1nS0dUeA5c8KxLr2mZgTbH4f6iQkRtXyZs"],
  [/pid \d+/g, "pid 4711"],
  [/("(?:user|system)": ?)[\d.]+/g, "$11.5"],
  [/,?\s*"peakMemoryBytes": ?\d+/g, ""],
  // The progress of `cp`.
  [/ *\d+% {2}[^\n]+ of 2\.0 GiB {2}[^\n]+ left/g, " 42%  860 MiB of 2.0 GiB  210 MiB/s  6s left"],
  [/localhost:\d{4,5}/g, "localhost:3000"],
  [/(running for +)[^\n]+/g, "$12s"],
  [/(other sessions +)\d+/g, "$11"],
  [/\b[0-9a-f]{64}\b/g, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
  [/"sessionId":"[^"]+"/g, '"sessionId":"01a3c4de-5f60-4718-92ab-3c4d5e6f7081"'],
  [/ on linux \S+, [^\n]+/g, " on linux 6.1.0, x64, as ann"],
  [/ on linux \w+$/gm, " on linux x64"],
  [/(bwrap has version )[\d.]+/g, "$10.8.0"],
  [/(descriptors +up to )\d+/g, "$1524288"],
  [/exec-server \d+\.\d+\.\d+/g, "exec-server 0.1.0"],
  [/[ \t]+$/gm, ""],
];

/** Makes the text of a screen the same on every machine. */
export function scrub(text: string, root: string): string {
  const home = text.replaceAll(`${root}/here`, "/home/ann").replaceAll(`${root}/build`, "/home/ann");
  return EXAMPLES.reduce((scrubbed, [pattern, example]) => scrubbed.replace(pattern, example), home);
}
