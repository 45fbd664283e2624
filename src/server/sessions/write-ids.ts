import { createHash } from "node:crypto";
import { MAX_REMEMBERED_WRITE_IDS } from "../../protocol/wire-limits.ts";

/** Ids of the newest writes to a process, whatever their length. */
export class WriteIds {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(storedKey(id));
  }

  add(id: string): void {
    this.#ids.add(storedKey(id));
    if (this.#ids.size <= MAX_REMEMBERED_WRITE_IDS) return;
    const [oldest] = this.#ids;
    if (oldest !== undefined) this.#ids.delete(oldest);
  }
}

/** A hash, so that the ids of a process take less than a megabyte. UTF-16 keeps lone surrogates distinct. */
function storedKey(id: string): string {
  return createHash("sha256").update(id, "utf16le").digest("base64");
}
