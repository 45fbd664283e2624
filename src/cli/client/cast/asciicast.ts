/** First line of a recording. */
export interface CastHeader {
  readonly version: 2 | 3;
  readonly cols: number;
  readonly rows: number;
}

/** What happened in a recorded terminal: output, or another size (`80x24`). Other kinds exist. */
export interface CastEvent {
  /** Seconds since the beginning. */
  readonly time: number;
  readonly kind: "o" | "r" | (string & {});
  readonly data: string;
}

const DECIMALS = 6;

/** Version 2, which every player reads. */
export function formatHeader({ cols, rows }: CastHeader): string {
  const timestamp = Math.floor(Date.now() / 1_000);
  return `${JSON.stringify({ version: 2, width: cols, height: rows, timestamp })}\n`;
}

export function formatEvent({ time, kind, data }: CastEvent): string {
  return `${JSON.stringify([Number(time.toFixed(DECIMALS)), kind, data])}\n`;
}

/** Undefined if the line is not the header of a known version. */
export function parseHeader(line: string): CastHeader | undefined {
  const value = parse(line);
  if (typeof value !== "object" || value === null) return undefined;
  const { version, width, height, term } = value as Record<string, unknown>;
  if (version === 2) return sized(2, width, height);
  if (version !== 3 || typeof term !== "object" || term === null) return undefined;
  const { cols, rows } = term as Record<string, unknown>;
  return sized(3, cols, rows);
}

/** Undefined if the line is not an event. */
export function parseEvent(line: string): CastEvent | undefined {
  const value = parse(line);
  if (!Array.isArray(value)) return undefined;
  const [time, kind, data] = value as unknown[];
  if (typeof time !== "number" || time < 0 || typeof kind !== "string" || typeof data !== "string")
    return undefined;
  return { time, kind, data };
}

function sized(version: 2 | 3, cols: unknown, rows: unknown): CastHeader | undefined {
  return isSize(cols) && isSize(rows) ? { version, cols, rows } : undefined;
}

function isSize(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
