const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
} as const;

/** Colours for the output of a command. Without colours each function returns its text. */
export type Colors = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

/** Whether a stream gets colours: a terminal does, unless NO_COLOR is set; FORCE_COLOR decides for other streams. */
export function hasColors(
  stream: { readonly isTTY?: boolean | undefined },
  environment: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== "") return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  return stream.isTTY === true && TERM !== "dumb";
}

export function colorsFor(isColored: boolean): Colors {
  const paints = Object.entries(CODES).map(([name, [on, off]]) => {
    const paint = (text: string): string =>
      isColored && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
    return [name, paint] as const;
  });
  return Object.fromEntries(paints) as Colors;
}

/** Colours for stdout. */
export function stdoutColors(): Colors {
  return colorsFor(hasColors(process.stdout));
}
