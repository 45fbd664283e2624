import { UsageError } from "../base/errors.ts";

/** Neither `,` nor `=`, which separate labels on a command line, and nothing that a terminal would obey. */
const KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;
const VALUE = /^[A-Za-z0-9._/:@+-]{1,128}$/;
/** As many as a beat may hold. */
export const MAX_LABELS = 64;

/** Throws a UsageError for labels by which no executor could be chosen. */
export function checkLabels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS)
    throw new UsageError(`an executor has at most ${MAX_LABELS} labels, not ${entries.length}`);
  for (const [key, value] of entries) {
    if (!KEY.test(key))
      throw new UsageError(
        `invalid name of a label ${JSON.stringify(key)}; expected up to 63 letters, digits, and any of . _ / -`,
      );
    if (!VALUE.test(value))
      throw new UsageError(
        `invalid value ${JSON.stringify(value)} of the label ${key}; expected 1 to 128 letters, digits, and any of . _ / : @ + -`,
      );
  }
  return labels;
}
