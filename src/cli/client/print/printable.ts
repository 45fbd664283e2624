import { visibleJson, visibleText } from "../../../base/visible-text.ts";

/** Text as it can be shown on one line of a terminal: what it would act on, or not show, is escaped. */
export const printable = visibleText;

/** A value as JSON, with the same escaped. */
export function printableJson(value: unknown, indent?: number): string {
  return visibleJson(JSON.stringify(value, undefined, indent));
}
