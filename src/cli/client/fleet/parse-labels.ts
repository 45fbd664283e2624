import { InvalidArgumentError } from "commander";

/** Labels of executors. */
export type Labels = Readonly<Record<string, string>>;

/** Reads `KEY=VALUE[,KEY=VALUE]…` of a repeatable option. */
export function parseLabels(text: string, earlier: Labels = {}): Labels {
  const labels = new Map(Object.entries(earlier));
  for (const part of text.split(",")) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(part) ?? [];
    if (key === undefined || value === undefined)
      throw new InvalidArgumentError(`expected KEY=VALUE, not '${part}'`);
    const known = labels.get(key);
    if (known !== undefined && known !== value)
      throw new InvalidArgumentError(`no executor has both ${key}=${known} and ${key}=${value}`);
    labels.set(key, value);
  }
  return Object.fromEntries(labels);
}

/** The labels of an executor for people: `gpu=a100,zone=eu`. */
export function showLabels(labels: Labels): string {
  const words = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return words.length === 0 ? "-" : words.sort().join(",");
}
