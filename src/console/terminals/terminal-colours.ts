import type { ITheme } from "@xterm/xterm";

const ANSI = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

/** The colours of the page's tokens. xterm.js needs them as plain values. */
export function terminalColours(): ITheme & { readonly match: string; readonly currentMatch: string } {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
  const token = (name: string): string => {
    probe.style.color = `var(--term-${name})`;
    // Drawn, because the computed value may be in a colour space that xterm.js does not read.
    context.fillStyle = getComputedStyle(probe).color;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return `#${[red, green, blue].map((value) => value!.toString(16).padStart(2, "0")).join("")}`;
  };
  const colours = {
    match: token("match"),
    currentMatch: token("match-current"),
    background: token("page"),
    foreground: token("text"),
    cursor: token("cursor"),
    cursorAccent: token("page"),
    selectionBackground: token("selection"),
    selectionInactiveBackground: token("selection"),
  };
  const palette: Record<string, string> = {};
  for (const name of ANSI) {
    palette[name] = token(name);
    palette[`bright${name[0]!.toUpperCase()}${name.slice(1)}`] = token(`bright-${name}`);
  }
  probe.remove();
  return { ...colours, ...palette };
}
