import { Turns } from "../../../turns.ts";

/** Reads the rows of a screen. A large one in many colours takes a while; others get their turn in between. */
export async function readRows<T>(rows: number, read: (row: number) => T): Promise<T[]> {
  const turns = new Turns();
  const results: T[] = [];
  for (let row = 0; row < rows; row += 1) {
    results.push(read(row));
    if (turns.over) await turns.next();
  }
  return results;
}
