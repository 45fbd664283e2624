import { effect, signal } from "@preact/signals";

const KEY = "exec-server-terminals";
const SIZE = { least: 8, usual: 13, most: 28 };

const stored = read();

/** In pixels. */
export const fontSize = signal(stored.fontSize);
/** Screen readers also get the output, at some cost. */
export const screenReader = signal(stored.screenReader);

effect(() => {
  const settings = JSON.stringify({ fontSize: fontSize.value, screenReader: screenReader.value });
  localStorage.setItem(KEY, settings);
});

/** Makes text larger or smaller by steps; 0 is the usual size. */
export function changeFontSize(steps: number): void {
  fontSize.value = steps === 0 ? SIZE.usual : within(fontSize.value + steps);
}

function read(): { readonly fontSize: number; readonly screenReader: boolean } {
  let value: unknown;
  try {
    value = JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    // As if there was none.
  }
  const { fontSize: size, screenReader: reader } = (value ?? {}) as Record<string, unknown>;
  return { fontSize: typeof size === "number" ? within(size) : SIZE.usual, screenReader: reader === true };
}

function within(size: number): number {
  return Math.min(SIZE.most, Math.max(SIZE.least, Math.round(size)));
}
