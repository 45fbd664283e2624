/** Maximum number of names to list; the rest is counted. */
const MAX_NAMED = 5;

/** Some names, and how many more there are: `a, b and 3 more`. */
export function someOf(names: readonly string[], total = names.length): string {
  const more = total - MAX_NAMED;
  const named = names.slice(0, MAX_NAMED).join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
}
