const warned = new Set<string>();

/** Warns once in a program, as Node does: `--trace-deprecation` shows the caller, `--no-deprecation` turns it off. */
export function warnDeprecated(name: string, replacement: string, removal: string): void {
  if (warned.has(name)) return;
  warned.add(name);
  process.emitWarning(
    `${name} is deprecated and will be removed in exec-server ${removal}: use ${replacement}`,
    "DeprecationWarning",
    "EXEC_SERVER_DEPRECATED",
  );
}
