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
        <kbd key={stroke}>
          {stroke
            .split(/\+(?=.)/)
            .map((key) => NAMES[key] ?? (/^[a-z]$/.test(key) ? key.toUpperCase() : key))
            .join(" ")}
        </kbd>
      ))}
    </span>
  );
}
