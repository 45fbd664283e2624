/** Context in which a key was pressed. */
export type KeyContext = "page" | "field" | "terminal";

/**
 * The name of a key press, as commands write it: `Ctrl+K`, `Shift+Enter`, `F1`, `/`. Printable keys are named by their
 * character, without Shift. On a Mac, Command is Ctrl.
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

/** Whether a command with these keys may take them in a context. Fields keep typing keys, terminals nearly all keys. */
export function mayTake(keys: string, context: KeyContext): boolean {
  if (context === "page") return true;
  if (context === "field") return /^(?:Ctrl|Alt)\+|^F\d/.test(keys);
  return /^(?:Ctrl\+(?:Alt\+)?Shift\+|Alt\+Shift\+|F1$)/.test(keys);
}

/** The command for a key sequence; `prefix` if more keys must follow. */
export function lookUp<T extends { readonly keys?: string | undefined }>(
  commands: Iterable<T>,
  pressed: string,
): T | "prefix" | undefined {
  let match: T | "prefix" | undefined;
  for (const command of commands) {
    if (command.keys === pressed) match = command;
    else if (match === undefined && command.keys?.startsWith(`${pressed} `)) match = "prefix";
  }
  return match;
}
