/** Where the tokens belong of the servers that this command uses. Usually, it is one. */
const places = new Set<string>();

/** What follows `give the server's token`, such as `in EXEC_SERVER_TOKEN`. */
export function noteTokenSource(place: string): void {
  places.add(place);
}

/**
 * What to do if a token is refused. A token that is withdrawn while a command runs is refused far from where it was
 * read, so the place is noted there.
 */
export function tokenRemedy(): string {
  return `give the server's token ${[...places, "with --token-file"].join(" or ")}`;
}
