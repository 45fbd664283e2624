/** What was started. Values of environment variables are not kept: they may be secrets. */
export interface PastStart {
  readonly line: string;
  readonly cwd: string;
  readonly isTerminal: boolean;
  readonly takesInput: boolean;
  readonly sandbox: string;
}

const KEY = "exec-server-starts";
const MOST = 50;

/** The latest first. */
export function pastStarts(): readonly PastStart[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isPast).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function rememberStart(start: PastStart): void {
  const others = pastStarts().filter(({ line, cwd }) => line !== start.line || cwd !== start.cwd);
  localStorage.setItem(KEY, JSON.stringify([start, ...others].slice(0, MOST)));
}

/** Those that have all words of a text. */
export function findPast(past: readonly PastStart[], text: string): readonly PastStart[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return past.filter(({ line }) => line !== text && words.every((word) => line.toLowerCase().includes(word)));
}

function isPast(value: unknown): value is PastStart {
  const { line, cwd, isTerminal, takesInput, sandbox } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof line === "string" &&
    typeof cwd === "string" &&
    typeof isTerminal === "boolean" &&
    typeof takesInput === "boolean" &&
    typeof sandbox === "string"
  );
}
