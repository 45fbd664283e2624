/** A part of a text shares the memory of the whole; this one does not. */
export function ownText(part: string): string {
  return JSON.parse(JSON.stringify(part)) as string;
}
