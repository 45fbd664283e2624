import { hasWords } from "../ui/arrange-rows.ts";

/** Past starts. Values of environment variables are not stored: they may be secrets. */
export interface PastStart {
  readonly line: string;
  readonly cwd: string;
  readonly isTerminal: boolean;
  readonly takesInput: boolean;
  /** Empty for none. */
  readonly sandbox: string;
}

const KEY = "exec-server-starts";
const MAX_COMMANDS = 50;

/** The latest first. */
export function pastStarts(): readonly PastStart[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isPast).slice(0, MAX_COMMANDS) : [];
  } catch {
    return [];
  }
}

export function rememberStart(start: PastStart): void {
  const others = pastStarts().filter(({ line, cwd }) => line !== start.line || cwd !== start.cwd);
  localStorage.setItem(KEY, JSON.stringify([start, ...others].slice(0, MAX_COMMANDS)));
}

/** Past starts that contain all words of a text. */
export function findPast(past: readonly PastStart[], text: string): readonly PastStart[] {
  return past.filter(({ line }) => line !== text && hasWords(line, text));
}

function isPast(value: unknown): value is PastStart {
  const { line, cwd, isTerminal, takesInput, sandbox } = (value ?? {}) as Record<string, unknown>;
  return (
    [line, cwd, sandbox].every((text) => typeof text === "string") &&
    [isTerminal, takesInput].every((choice) => typeof choice === "boolean")
  );
}
