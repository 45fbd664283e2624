import { effect, signal } from "@preact/signals";
import { readStored } from "../frame/read-stored.ts";

const KEY = "exec-server-terminals";
const SIZE = { least: 8, usual: 13, most: 28 };

const stored = (readStored(localStorage, KEY) ?? {}) as Record<string, unknown>;

/** In pixels. */
export const fontSize = signal(
  typeof stored["fontSize"] === "number" ? within(stored["fontSize"]) : SIZE.usual,
);
/** Screen readers also get the output, at some cost. */
export const screenReader = signal(stored["screenReader"] === true);

effect(() => {
  const settings = JSON.stringify({ fontSize: fontSize.value, screenReader: screenReader.value });
  localStorage.setItem(KEY, settings);
});

/** Makes text larger or smaller by steps; 0 is the usual size. */
export function changeFontSize(steps: number): void {
  fontSize.value = steps === 0 ? SIZE.usual : within(fontSize.value + steps);
}

function within(size: number): number {
  return Math.min(SIZE.most, Math.max(SIZE.least, Math.round(size)));
}
