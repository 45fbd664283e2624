import { SpoolDirectory } from "./spool-directory.ts";
import { SpoolReader } from "./spool-reader.ts";
import type { SpoolDescription, SpooledChunk } from "./spool-record.ts";
import { parseFileName } from "./spool-files.ts";

/** Output that is read at once. */
const PIECE_BYTES = 1024 * 1024;

/** The files of a process, as they are on disk. */
export interface SpoolRemains extends SpoolDescription {
  readonly names: readonly string[];
}

/** Reads what a spool has left on disk, whether or not a program still adds to it. */
export class SpoolArchive {
  readonly #directory: SpoolDirectory;
  readonly #reader: SpoolReader;

  /** Throws if there is no such directory, or others can enter it. */
  constructor(path: string) {
    this.#directory = SpoolDirectory.find(path);
    this.#reader = new SpoolReader(this.#directory);
  }

  /** The processes whose output is there, the oldest first. Files that do not say whose they are, are left out. */
  list(): SpoolRemains[] {
    const byId = new Map<string, { name: string; firstSeq: number }[]>();
    for (const name of this.#directory.names()) {
      const parsed = parseFileName(name);
      if (parsed === undefined) continue;
      byId.set(parsed.id, [...(byId.get(parsed.id) ?? []), { name, firstSeq: parsed.firstSeq }]);
    }
    return [...byId.values()]
      .flatMap((files) => {
        const names = files.toSorted((a, b) => a.firstSeq - b.firstSeq).map(({ name }) => name);
        const description = this.#describe(names);
        return description === undefined ? [] : [{ ...description, names }];
      })
      .toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  }

  /** The output in these files, in order. What is missing shows in the numbers. */
  *chunks({ names }: SpoolRemains): IterableIterator<SpooledChunk> {
    let last = 0;
    for (const name of names) {
      let from: number | undefined = 0;
      while (from !== undefined) {
        const chunks: SpooledChunk[] = [];
        let total = 0;
        let next: number | undefined;
        this.#reader.visit(name, from, (record) => {
          if (record.kind !== "output") return true;
          if (total > PIECE_BYTES) {
            next = record.at;
            return false;
          }
          for (const chunk of record.chunks) {
            if (chunk.seq <= last) continue;
            last = chunk.seq;
            total += chunk.bytes.length;
            chunks.push({ ...chunk, bytes: new Uint8Array(chunk.bytes) });
          }
          return true;
        });
        yield* chunks;
        from = next;
      }
    }
  }

  #describe(names: readonly string[]): SpoolDescription | undefined {
    let text: string | undefined;
    for (const name of names) {
      this.#reader.visit(name, 0, (record) => {
        if (record.kind === "description") text = record.text;
        return record.kind !== "description";
      });
      const description = text === undefined ? undefined : parseDescription(text);
      if (description !== undefined) return description;
    }
    return undefined;
  }
}

function parseDescription(text: string): SpoolDescription | undefined {
  try {
    const { process, owner, argv, startedAt } = JSON.parse(text) as Partial<SpoolDescription>;
    if (typeof process !== "string" || typeof owner !== "string" || typeof startedAt !== "string")
      return undefined;
    return { process, owner, startedAt, argv: Array.isArray(argv) ? argv.map(String) : [] };
  } catch {
    return undefined;
  }
}
