import type { PaneModel } from "./pane-model.tsx";

const KEYS = [
  ["Esc", "\u001b", "Esc"],
  ["Tab", "\t", "Tab"],
] as const;
const ARROWS = [
  ["←", "D", "Left"],
  ["↓", "B", "Down"],
  ["↑", "A", "Up"],
  ["→", "C", "Right"],
] as const;
const CHARACTERS = ["|", "/", "-", "~"] as const;

/** Keys that the keyboard of a phone does not have. */
export function PhoneKeys({ model }: { readonly model: PaneModel }) {
  const arrow = (letter: string): string =>
    `\u001b${model.emulator.terminal.modes.applicationCursorKeysMode ? "O" : "["}${letter}`;
  const key = (label: string, name: string, onClick: () => void, pressed?: boolean) => (
    <button
      key={label}
      type="button"
      aria-label={name}
      aria-pressed={pressed}
      // The terminal keeps the focus, and the phone its keyboard.
      onPointerDown={(event) => event.preventDefault()}
      onClick={onClick}
    >
      {label}
    </button>
  );
  return (
    <div class="term-keys" role="toolbar" aria-label="Keys">
      {KEYS.map(([label, keys, name]) => key(label, name, () => model.press(keys)))}
      {key(
        "Ctrl",
        "Ctrl, for the next key",
        () => {
          model.isControlHeld.value = !model.isControlHeld.value;
          model.focus();
        },
        model.isControlHeld.value,
      )}
      {ARROWS.map(([label, letter, name]) => key(label, name, () => model.press(arrow(letter))))}
      {CHARACTERS.map((character) => key(character, character, () => model.press(character)))}
    </div>
  );
}
