import { focusedPane, terminalKey } from "./layout.ts";
import { layout } from "./open-terminals.ts";

export type Way = "Left" | "Right" | "Up" | "Down";

/** The pane that a person sees next to the one that has the keyboard. */
export function neighbourPane(way: Way): string | undefined {
  const focused = focusedPane(layout.value);
  if (focused === undefined) return undefined;
  const cells = [...document.querySelectorAll<HTMLElement>(".term-sheet:not([hidden]) .term-cell")];
  const from = cells.find((cell) => cell.dataset["key"] === terminalKey(focused))?.getBoundingClientRect();
  if (from === undefined) return undefined;
  let best: { readonly key: string; readonly distance: number } | undefined;
  for (const cell of cells) {
    const key = cell.dataset["key"]!;
    const distance = distanceTo(way, from, cell.getBoundingClientRect());
    if (distance !== undefined && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
      best = { key, distance };
  }
  return best?.key;
}

/** How far one box is from another on a way; undefined if it is elsewhere. */
function distanceTo(way: Way, from: DOMRect, to: DOMRect): number | undefined {
  const isAcross = way === "Left" || way === "Right";
  const overlaps = isAcross
    ? to.top < from.bottom && to.bottom > from.top
    : to.left < from.right && to.right > from.left;
  if (!overlaps) return undefined;
  const distance = {
    Left: from.left - to.right,
    Right: to.left - from.right,
    Up: from.top - to.bottom,
    Down: to.top - from.bottom,
  }[way];
  return distance < 0 ? undefined : distance;
}
