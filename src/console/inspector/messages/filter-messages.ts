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
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0 && direction === undefined) return messages;
  return messages.filter((message) => {
    if (direction !== undefined && message.direction !== direction) return false;
    const about = `${message.method ?? ""} ${message.id ?? ""} ${message.kind}`.toLowerCase();
    return words.every((word) => about.includes(word));
  });
}

/** The place of the message with a number, or of the next one that is still there. */
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
