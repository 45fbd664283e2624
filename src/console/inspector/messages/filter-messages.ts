import { hasWords } from "../../ui/arrange-rows.ts";
import type { LoggedMessage } from "./message-log.ts";

export interface MessageFilter {
  /** Words that the method or the id must have. */
  readonly text: string;
  readonly direction: LoggedMessage["direction"] | undefined;
}

export function filterMessages(
  messages: readonly LoggedMessage[],
  { text, direction }: MessageFilter,
): readonly LoggedMessage[] {
  if (text.trim() === "" && direction === undefined) return messages;
  return messages.filter(
    ({ direction: way, method = "", id = "", kind }) =>
      (direction === undefined || way === direction) && hasWords(`${method} ${id} ${kind}`, text),
  );
}

/** The index of the message with a number, or of the next one that is still listed. */
export function indexOfMessage(messages: readonly LoggedMessage[], number: number): number {
  let low = 0;
  let high = messages.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (messages[middle]!.number < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
