const NAMES: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Enter: "↵",
  Escape: "Esc",
  Delete: "Del",
};

/** Keys of a command: `g p` is one after the other, `Ctrl+K` together. */
export function Keys({ keys }: { readonly keys: string }) {
  return (
    <span class="keys">
      {keys.split(" ").map((stroke) => (
        <kbd key={stroke}>{strokeText(stroke)}</kbd>
      ))}
    </span>
  );
}

/** Letters are printed as on the keyboard. */
export function strokeText(stroke: string): string {
  if (/^[A-Z]$/.test(stroke)) return `Shift ${stroke}`;
  return stroke
    .split(/\+(?=.)/)
    .map((key) => NAMES[key] ?? (/^[a-z]$/.test(key) ? key.toUpperCase() : key))
    .join(" ");
}
