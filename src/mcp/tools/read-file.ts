import { UsageError } from "../../base/errors.ts";
import { joinBytes } from "../../base/join-bytes.ts";
import { cutEnd } from "../../client/process/utf8-boundary.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import { imageType } from "./image-type.ts";
import { absolutePath } from "./paths.ts";
import type { Surroundings } from "./process-tools.ts";
import { type McpTool, type ToolAnswer, toolDefinition } from "./tool.ts";

const NEWLINE = 10;
const MAX_LINES = 2_000;
/** About 10000 tokens, as of a command. */
const MAX_BYTES = 40_000;
/** What clients accept as an image. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
/** Lines beyond it are for commands. */
const MAX_SEARCHED_BYTES = 256 * 1024 * 1024;

const definition = toolDefinition(
  "read_file",
  `Returns lines of a text file, at most ${MAX_LINES} of them and about 10000 tokens, as they are, or an image (PNG, JPEG, ` +
    "GIF, WebP). A last line in brackets says how to read on, if there is more.",
  {
    path: { type: "string", description: "The file, absolute or relative to the working directory." },
    offset: { type: "integer", minimum: 1, description: "First line to return, counted from 1. Default 1." },
    limit: {
      type: "integer",
      minimum: 1,
      description: `Number of lines to return. Default and maximum ${MAX_LINES}.`,
    },
  },
  ["path"],
);

interface ReadArguments {
  readonly path: string;
  readonly offset?: number | null;
  readonly limit?: number | null;
}

/** Has no output schema: an image is no JSON, and some clients show a model nothing else if there is any. */
export function readFileTool({ enter }: Surroundings): McpTool {
  return {
    definition,
    annotations: { title: "Read a file", readOnlyHint: true, openWorldHint: false },
    call: async (args, { signal }) => {
      const { path, offset, limit } = checkArguments(definition, args) as unknown as ReadArguments;
      const { readableFiles: files, cwd } = await enter(signal);
      const file = absolutePath("read_file", path, cwd);
      const lines = new LineWindow(offset ?? 1, Math.min(limit ?? MAX_LINES, MAX_LINES));
      let isFirst = true;
      for await (const piece of files.readStream(file, { signal, resume: true })) {
        const type = isFirst ? imageType(piece) : undefined;
        if (type !== undefined) {
          const { size } = await files.stat(file, { signal });
          if (size > MAX_IMAGE_BYTES)
            throw new UsageError(
              `read_file: ${file} is an image of ${size} bytes, and at most ${MAX_IMAGE_BYTES} are shown; make it smaller with exec_command`,
            );
          const data = await files.read(file, { maxBytes: MAX_IMAGE_BYTES, signal });
          return imageAnswer(data, type);
        }
        isFirst = false;
        if (!lines.push(piece)) break;
      }
      return { text: lines.end(file) };
    },
  };
}

function imageAnswer(data: Uint8Array, mimeType: string): ToolAnswer {
  return {
    text: `An image, ${mimeType}, ${data.length} bytes:`,
    image: { data: Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64"), mimeType },
  };
}

/** Some lines of a file that passes by. */
class LineWindow {
  readonly #first: number;
  readonly #limit: number;
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;
  /** Line ends that have passed, before the first line and in all. */
  #skipped = 0;
  #lines = 0;
  #passedBytes = 0;
  #isCut = false;

  constructor(first: number, limit: number) {
    this.#first = first;
    this.#limit = limit;
  }

  /** False if nothing more is needed. */
  push(piece: Uint8Array): boolean {
    this.#passedBytes += piece.length;
    for (let at = this.#skip(piece); at < piece.length; ) {
      if (this.#lines === this.#limit || this.#keptBytes > MAX_BYTES) {
        this.#isCut = true;
        return false;
      }
      const newline = piece.indexOf(NEWLINE, at);
      const end = newline < 0 ? piece.length : newline + 1;
      this.#kept.push(piece.slice(at, end));
      this.#keptBytes += end - at;
      if (newline >= 0) this.#lines += 1;
      at = end;
    }
    return true;
  }

  /** Where the first line begins in the piece. */
  #skip(piece: Uint8Array): number {
    let at = 0;
    while (at < piece.length && this.#skipped < this.#first - 1) {
      const newline = piece.indexOf(NEWLINE, at);
      if (newline >= 0) this.#skipped += 1;
      at = newline < 0 ? piece.length : newline + 1;
    }
    if (this.#skipped < this.#first - 1 && this.#passedBytes > MAX_SEARCHED_BYTES)
      throw new UsageError(
        "read_file: the line begins too far inside the file; use exec_command, such as sed -n",
      );
    return at;
  }

  /** The lines, and a note on what was left out. */
  end(file: string): string {
    const bytes = joinBytes(this.#kept);
    if (bytes.length === 0 && this.#first > 1)
      throw new UsageError(`read_file: ${file} ends before line ${this.#first}`);
    if (bytes.length === 0) return "[The file is empty.]";
    if (!this.#isCut && bytes.length <= MAX_BYTES) return decode(bytes, file);
    const end = bytes.length <= MAX_BYTES ? bytes.length : bytes.lastIndexOf(NEWLINE, MAX_BYTES - 1) + 1;
    if (end > 0) {
      const next = this.#first + bytes.subarray(0, end).filter((byte) => byte === NEWLINE).length;
      return `${decode(bytes.subarray(0, end), file)}[There is more: offset ${next} continues.]`;
    }
    const line = decode(bytes.subarray(0, cutEnd(bytes, MAX_BYTES)), file);
    return (
      `${line}\n[Line ${this.#first} is longer, and was cut: exec_command returns the rest, such as ` +
      `sed -n ${this.#first}p FILE | cut -b ${MAX_BYTES + 1}-. Offset ${this.#first + 1} continues after it.]`
    );
  }
}

function decode(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`read_file: ${file} is not UTF-8 text; use exec_command, such as file or xxd`);
  }
}
