import { createHash } from "node:crypto";
import { MAX_REMEMBERED_WRITE_IDS } from "../../protocol/wire-limits.ts";

/** Longer ids are kept as hashes, so that those of a process take about a megabyte at most. */
const MAX_KEPT_CHARACTERS = 128;

/** Ids of the newest writes to a process, whatever their length. */
export class WriteIds {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(keyOf(id));
  }

  add(id: string): void {
    this.#ids.add(keyOf(id));
    if (this.#ids.size <= MAX_REMEMBERED_WRITE_IDS) return;
    const [oldest] = this.#ids;
    if (oldest !== undefined) this.#ids.delete(oldest);
  }
}

/** A short id is its own key. The key of a long id is longer than any short one. */
function keyOf(id: string): string {
  if (id.length <= MAX_KEPT_CHARACTERS) return id;
  return `${" ".repeat(MAX_KEPT_CHARACTERS)}${createHash("sha256").update(id, "utf16le").digest("base64")}`;
}
