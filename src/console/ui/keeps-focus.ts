/** True if somebody types there or has opened it: what comes later does not take the keyboard from them. */
export function keepsFocus(element: Element | null): boolean {
  return element?.closest("input, textarea, dialog, [contenteditable=true], .menu") != null;
}
