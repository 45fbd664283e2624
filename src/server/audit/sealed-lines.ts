import { hash as hashOf } from "node:crypto";
import { visibleJson } from "../../base/visible-text.ts";
import type { AuditHead } from "./chain.ts";

/** Buffer size for a busy server's lines. Larger batches get their own buffer. */
const KEPT_BYTES = 64 * 1024;
/** Maximum length of a character in UTF-8. A surrogate pair has four bytes for two characters. */
const MAX_CHARACTER_BYTES = 3;

/** Lines of a log, each chained to the one before. The memory is reused for the next batch. */
export class SealedLines {
  readonly #buffer = Buffer.allocUnsafeSlow(KEPT_BYTES);
  #text = "";
  #head: AuditHead;

  /** The lines will follow this one. */
  constructor(head: AuditHead) {
    this.#head = head;
  }

  get head(): AuditHead {
    return this.#head;
  }

  get characters(): number {
    return this.#text.length;
  }

  /** Starts again: the next lines follow this one. */
  clear(head: AuditHead): void {
    this.#text = "";
    this.#head = head;
  }

  /**
   * Adds a line: its number, the hash of the line before, these members of a JSON object, its own hash, a line feed. The
   * hash covers all bytes before it.
   */
  add(members: string): void {
    const line = this.#head.line + 1;
    const covered = visibleJson(`{"n":${line},"prev":"${this.#head.hash}",${members}`);
    const hash = hashOf("sha256", covered);
    this.#text += `${covered},"hash":"${hash}"}\n`;
    this.#head = { line, hash };
  }

  /** Valid until it is called again. */
  bytes(): Buffer {
    const text = this.#text;
    if (text.length * MAX_CHARACTER_BYTES > KEPT_BYTES) return Buffer.from(text);
    return this.#buffer.subarray(0, this.#buffer.write(text));
  }
}
