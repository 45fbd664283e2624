/** Where the results of the rows of a file go, unless the user names another place. */
export function resultsPath(input: string): string {
  return `${input.replace(/\.(?:csv|tsv|txt|jsonl|ndjson|json)$/i, "")}.results.csv`;
}
