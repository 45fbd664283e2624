/** Replies that a terminal sends when a program asks: its kind, the cursor's position, colours, modes. */
const REPLY =
  // oxlint-disable-next-line no-control-regex
  /^\x1b(?:\[[?>=]?[\d;]*(?:[cnR]|\$y)|\](?:4|1[0-2]);[^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\)$/;

/** Whether input looks like a terminal's reply and not like keys. */
export function isReply(data: string): boolean {
  return REPLY.test(data);
}
