import { messageOf } from "../../../../base/errors.ts";
import { readBlock } from "./spool-block.ts";
import type { SpoolFiles, SpoolPage, SpoolTimes } from "./spool-files.ts";
import type { SpoolDescription } from "./spool-record.ts";

/** A question about the files of a process. */
export type SpoolQuestion =
  | {
      readonly kind: "read";
      readonly key: number;
      readonly afterSeq: number;
      readonly beforeSeq: number;
      readonly maxBytes: number;
    }
  | {
      readonly kind: "times";
      readonly key: number;
      readonly fromSeq: number;
      readonly beforeSeq: number;
      readonly maxCount: number;
    }
  | { readonly kind: "since"; readonly key: number; readonly timeMs: number };

export interface SpoolAnswers {
  readonly read: SpoolPage;
  readonly times: SpoolTimes;
  readonly since: number;
}

/** What the thread of the spool is told, in order. */
export type ToSpool =
  | { readonly kind: "open"; readonly key: number; readonly description: SpoolDescription }
  | { readonly kind: "block"; readonly block: ArrayBuffer; readonly length: number }
  | { readonly kind: "remove"; readonly key: number }
  | { readonly kind: "question"; readonly number: number; readonly question: SpoolQuestion };

export type FromSpool =
  /** A block was written, as far as possible; it comes back to be used again. */
  | { readonly kind: "written"; readonly block: ArrayBuffer; readonly fault: string | undefined }
  | {
      readonly kind: "answer";
      readonly number: number;
      readonly answer: SpoolAnswers[SpoolQuestion["kind"]];
    };

/** Does in the thread of the spool what it is told. */
export class SpoolService {
  readonly #files: SpoolFiles;
  readonly #send: (message: FromSpool, moved: readonly ArrayBuffer[]) => void;

  constructor(files: SpoolFiles, send: (message: FromSpool, moved: readonly ArrayBuffer[]) => void) {
    this.#files = files;
    this.#send = send;
  }

  take(message: ToSpool): void {
    switch (message.kind) {
      case "open":
        this.#files.open(message.key, message.description);
        break;
      case "block":
        this.#write(message.block, message.length);
        break;
      case "remove":
        this.#files.remove(message.key);
        break;
      case "question":
        this.#answer(message.number, message.question);
        break;
    }
  }

  #write(block: ArrayBuffer, length: number): void {
    let fault: string | undefined;
    for (const [key, chunks] of readBlock(block, length))
      try {
        this.#files.append(key, chunks);
      } catch (error) {
        // This output is missing on disk; the next may fit again.
        fault = messageOf(error);
      }
    this.#send({ kind: "written", block, fault }, [block]);
  }

  #answer(number: number, question: SpoolQuestion): void {
    switch (question.kind) {
      case "read": {
        const { key, afterSeq, beforeSeq, maxBytes } = question;
        const page = this.#files.read(key, afterSeq, beforeSeq, maxBytes);
        const [first] = page.chunks;
        this.#send(
          { kind: "answer", number, answer: page },
          first === undefined ? [] : [first.bytes.buffer as ArrayBuffer],
        );
        break;
      }
      case "times": {
        const { key, fromSeq, beforeSeq, maxCount } = question;
        const answer = this.#files.times(key, fromSeq, beforeSeq, maxCount);
        this.#send({ kind: "answer", number, answer }, []);
        break;
      }
      case "since":
        this.#send({ kind: "answer", number, answer: this.#files.since(question.key, question.timeMs) }, []);
        break;
    }
  }
}
