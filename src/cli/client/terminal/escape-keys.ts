/** Commands for this program instead of the remote one. */
export type EscapeCommand = "leave" | "suspend" | "help";

export type KeyAction = { readonly send: Uint8Array } | { readonly command: EscapeCommand };

const TILDE = 0x7e;
const ENTER = new Set([0x0a, 0x0d]);
const COMMANDS: Readonly<Record<number, EscapeCommand>> = { 0x2e: "leave", 0x1a: "suspend", 0x3f: "help" };

/** Finds escapes in typed bytes. As with ssh, an escape is a tilde at the beginning of a line, and a key. */
export class EscapeKeys {
  #isLineStart = true;
  #hasTilde = false;

  /** Returns the actions for typed bytes, in order. A tilde waits for the next key. */
  read(bytes: Uint8Array): KeyAction[] {
    const actions: KeyAction[] = [];
    let kept: number[] = [];
    const send = (): void => {
      if (kept.length > 0) actions.push({ send: Uint8Array.from(kept) });
      kept = [];
    };
    for (const byte of bytes) {
      const isEscaped = this.#hasTilde;
      this.#hasTilde = !isEscaped && this.#isLineStart && byte === TILDE;
      if (this.#hasTilde) continue;
      const command = isEscaped ? COMMANDS[byte] : undefined;
      if (command !== undefined) {
        send();
        actions.push({ command });
        this.#isLineStart = true;
        continue;
      }
      // `~~` is one tilde; before any other key, a tilde is literal.
      if (isEscaped && byte !== TILDE) kept.push(TILDE);
      kept.push(byte);
      this.#isLineStart = ENTER.has(byte);
    }
    send();
    return actions;
  }
}

export const ESCAPE_HELP = `
Keys at the beginning of a line:
  ~.   leave
  ~^Z  suspend this program
  ~?   show this help
  ~~   type a tilde
`;
