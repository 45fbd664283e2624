import type { SeededRandom } from "./seeded-random.ts";

const TEMPLATES: readonly unknown[] = [
  { id: 1, method: "initialize", params: { clientName: "fuzz", resumeSessionId: null } },
  { method: "initialized", params: {} },
  { id: 2, method: "environment/status" },
  { id: 3, method: "environment/info", params: null },
  {
    id: "4",
    method: "process/start",
    params: {
      processId: "p",
      argv: ["true"],
      cwd: "file:///",
      env: { PATH: "/usr/bin:/bin" },
      tty: false,
      arg0: null,
      pipeStdin: true,
      envPolicy: { inherit: "core", ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] },
    },
  },
  { id: 5, method: "process/read", params: { processId: "p", afterSeq: 0, maxBytes: 1000 } },
  { id: 6, method: "process/write", params: { processId: "p", chunk: "aGVsbG8=", writeId: "1" } },
  { id: 7, method: "process/signal", params: { processId: "p", signal: "interrupt" } },
  { id: 8, method: "process/terminate", params: { processId: "p" } },
  { id: 9, result: { decision: { type: "allow" } } },
  { id: 10, error: { code: -32601, message: "no" } },
];

const ODD_VALUES: readonly string[] = [
  "null",
  "-1",
  "1e999",
  "9223372036854775807",
  "18446744073709551616",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  "[]",
  "{}",
  "[[]]",
  '{"__proto__":{"a":1}}',
  '{"constructor":null}',
  "true",
  '"file:///%ff%fe"',
];

/** A valid message that has been damaged in one to three places; sometimes not at all. */
export function mutatedMessage(random: SeededRandom): string {
  let text = JSON.stringify(random.pick(TEMPLATES));
  for (let left = random.between(0, 3); left > 0; left--) text = mutate(text, random);
  return text;
}

function mutate(text: string, random: SeededRandom): string {
  const at = random.between(0, text.length - 1);
  const end = Math.min(text.length, at + random.between(1, 8));
  switch (random.between(0, 4)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, end) + text.slice(at);
    case 2:
      return text.slice(0, at) + String.fromCharCode(random.between(0, 127)) + text.slice(at + 1);
    case 3:
      return replaceValue(text, random);
    default:
      return (
        text.slice(0, at) +
        random.pick(["{", "}", "[", "]", ",", ":", '"', "\\", "\u00e9", "0"]) +
        text.slice(at)
      );
  }
}

function replaceValue(text: string, random: SeededRandom): string {
  const values = [...text.matchAll(/:("[^"]*"|null|true|false|-?\d+)/g)];
  if (values.length === 0) return text;
  const { index, 0: found } = random.pick(values);
  return `${text.slice(0, index)}:${random.pick(ODD_VALUES)}${text.slice(index + found.length)}`;
}
