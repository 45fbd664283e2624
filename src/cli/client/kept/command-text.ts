const PLAIN = /^[\w@%+=:,./-]+$/;

/** A command as it could be typed in a shell. */
export function commandText(argv: readonly string[]): string {
  return argv.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
