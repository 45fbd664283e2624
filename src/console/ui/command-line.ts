const PLAIN = /^[\w@%+=:,./~-]+$/;

/** A command as one would type it in a shell: quotes where they are needed. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/**
 * The essential part of a command, without the shell that runs it: the script of `sh -c SCRIPT`, otherwise the command
 * line.
 */
export function shortCommand(argv: readonly string[]): string {
  const [program = "", option = "", script] = argv;
  const isShell = /(?:^|\/)(?:ba|z|da|k)?sh$/.test(program) && /^-l?c$/.test(option);
  return isShell && script !== undefined && argv.length === 3 ? script : commandLine(argv);
}
