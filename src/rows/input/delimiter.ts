const CANDIDATES = [",", ";", "\t", "|"];

/** The delimiter of a file, from its first line that is not blank: the candidate that is there most often, outside of quotes. */
export function detectDelimiter(beginning: string): string {
  const counts = new Map(CANDIDATES.map((candidate) => [candidate, 0]));
  let isQuoted = false;
  for (const character of beginning.replace(/^\uFEFF?[\r\n]+/, "")) {
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "\n" || character === "\r") break;
    else if (counts.has(character)) counts.set(character, counts.get(character)! + 1);
  }
  const [best, count] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
  return count === 0 ? "," : best;
}
