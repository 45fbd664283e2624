import { UsageError } from "../base/errors.ts";

/** Excludes `,` and `=`, which separate labels on a command line, and anything that a terminal would interpret. */
const KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;
const VALUE = /^[A-Za-z0-9._/:@+-]{1,128}$/;
/** Maximum number of labels in a beat. */
export const MAX_LABELS = 64;

/** Throws a UsageError for labels that could not be used to choose an executor. */
export function checkLabels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS)
    throw new UsageError(`an executor has at most ${MAX_LABELS} labels, not ${entries.length}`);
  for (const [key, value] of entries) {
    if (!KEY.test(key))
      throw new UsageError(
        `invalid label name ${JSON.stringify(key)}; expected up to 63 letters, digits, and any of . _ / -`,
      );
    if (!VALUE.test(value))
      throw new UsageError(
        `invalid value ${JSON.stringify(value)} for the label ${key}; expected 1 to 128 letters, digits, and any of . _ / : @ + -`,
      );
  }
  return labels;
}
