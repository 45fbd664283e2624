/** Where a key was pressed. */
export type KeyContext = "page" | "field" | "terminal";

/**
 * The name of what was pressed, as commands write it: `Ctrl+K`, `Shift+Enter`, `F1`, `/`. Keys that print have the
 * character as their name, without Shift. On a Mac, Command is Ctrl.
 */
export function keyName(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
): string {
  const prints = event.key.length === 1;
  const hasControl = event.ctrlKey || event.metaKey;
  const key = prints && (hasControl || event.altKey) ? event.key.toUpperCase() : event.key;
  return [
    hasControl ? "Ctrl+" : "",
    event.altKey ? "Alt+" : "",
    event.shiftKey && (!prints || hasControl || event.altKey) ? "Shift+" : "",
    key === " " ? "Space" : key,
  ].join("");
}

/** Whether a command with these keys may take them there. Fields keep what types, terminals keep nearly everything. */
export function mayTake(keys: string, context: KeyContext): boolean {
  if (context === "page") return true;
  if (context === "field") return /^(?:Ctrl|Alt)\+|^F\d/.test(keys);
  return /^(?:Ctrl\+(?:Alt\+)?Shift\+|Alt\+Shift\+|F1$)/.test(keys);
}

/** Which command a sequence of keys means; `prefix` if more keys must follow. */
export function lookUp<T extends { readonly keys?: string | undefined }>(
  commands: Iterable<T>,
  pressed: string,
): T | "prefix" | undefined {
  let found: T | "prefix" | undefined;
  for (const command of commands) {
    if (command.keys === pressed) found = command;
    else if (found === undefined && command.keys?.startsWith(`${pressed} `)) found = "prefix";
  }
  return found;
}
