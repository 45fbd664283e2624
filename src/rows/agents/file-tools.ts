import { defined } from "../../base/defined.ts";
import { UsageError } from "../../base/errors.ts";
import type { Files } from "../../client/files/files.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import type { CheckedToolDefinition, ToolParameter } from "../../client/tools/definitions.ts";
import type { FunctionTool } from "../../client/tools/function-tool.ts";
import { resolveWorkdir } from "../../client/tools/working-directory.ts";

/** Larger files are for commands. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
const MAX_LINES = 2_000;
/** About 10000 tokens, as of a command. */
const MAX_CHARACTERS = 40_000;
const MAX_ENTRIES = 1_000;

type Properties = Readonly<Record<string, ToolParameter>>;
type Arguments<P extends Properties> = {
  readonly [K in keyof P]?: P[K]["type"] extends "integer" ? number | null : string | null;
};

const path = {
  type: "string",
  description: "The file, absolute or relative to the default directory.",
} as const;

/** A tool with a path. `run` gets it as `file`, which is absolute. */
interface FileTool<P extends Properties> {
  readonly name: string;
  readonly description: string;
  readonly properties: P;
  readonly required: readonly (keyof P & string)[];
  readonly run: (
    requested: Arguments<P> & { readonly file: string },
    options: { readonly signal?: AbortSignal },
  ) => Promise<string>;
}

/**
 * Tools with which a model reads and changes files. Relative paths start at `cwd`. What the model may touch is up to the
 * files, see `Files.within`.
 */
export function fileTools(files: Files, cwd: string | undefined): readonly FunctionTool[] {
  return [
    toTool(cwd, {
      name: "read_file",
      description: `Returns lines of a text file, at most ${MAX_LINES} of them.`,
      properties: {
        path,
        offset: {
          type: "integer",
          minimum: 1,
          description: "First line to return, counted from 1. Default 1.",
        },
        limit: {
          type: "integer",
          minimum: 1,
          description: `Number of lines to return. Default ${MAX_LINES}.`,
        },
      },
      required: ["path"],
      run: async ({ file, offset, limit }, options) =>
        linesOf(await readText(files, file, options), offset ?? 1, Math.min(limit ?? MAX_LINES, MAX_LINES)),
    }),
    toTool(cwd, {
      name: "write_file",
      description: "Creates or replaces a text file, and creates missing parent directories.",
      properties: { path, content: { type: "string", description: "The complete new content." } },
      required: ["path", "content"],
      run: async ({ file, content }, options) => {
        await files.mkdir(file.slice(0, Math.max(1, file.lastIndexOf("/"))), options);
        await files.write(file, content ?? "", options);
        return `Wrote ${Buffer.byteLength(content ?? "")} bytes to ${file}`;
      },
    }),
    toTool(cwd, {
      name: "edit_file",
      description: "Replaces text that occurs exactly once in a file.",
      properties: {
        path,
        old_text: { type: "string", description: "What to replace, exactly as it is in the file." },
        new_text: { type: "string", description: "The replacement." },
      },
      required: ["path", "old_text", "new_text"],
      run: async ({ file, old_text, new_text }, options) => {
        if (!old_text) throw new UsageError("edit_file: old_text is empty; use write_file for a new file");
        const [before = "", after, ...more] = (await readText(files, file, options)).split(old_text);
        if (after === undefined) throw new UsageError(`edit_file: ${file} does not contain old_text`);
        if (more.length > 0)
          throw new UsageError(
            `edit_file: ${file} contains old_text ${more.length + 1} times; include more surrounding text to make it unique`,
          );
        await files.write(file, `${before}${new_text ?? ""}${after}`, options);
        return `Edited ${file}`;
      },
    }),
    toTool(cwd, {
      name: "list_dir",
      description: "Lists a directory; the names of directories end with a slash.",
      properties: { path: { ...path, description: "Default: the default directory." } },
      required: [],
      run: async ({ file }, options) => {
        const entries = await files.list(file, options);
        const names = entries
          .slice(0, MAX_ENTRIES)
          .map(({ name, kind }) => (kind === "directory" ? `${name}/` : name));
        const more = entries.length - names.length;
        return [...names, ...(more > 0 ? [`(${more} more)`] : [])].join("\n") || "The directory is empty.";
      },
    }),
  ];
}

function toTool<P extends Properties>(
  cwd: string | undefined,
  { name, description, properties, required, run }: FileTool<P>,
): FunctionTool {
  const definition: CheckedToolDefinition = {
    type: "function",
    name,
    description,
    strict: false,
    parameters: { type: "object", properties, required, additionalProperties: false },
  };
  return {
    definition,
    call: async (args, { signal }) => {
      // The schema describes the type.
      const requested = checkArguments(definition, args) as Arguments<P> & { readonly path?: string | null };
      const asked = requested.path ?? "";
      const file = asked.startsWith("/") || cwd !== undefined ? resolveWorkdir(asked, cwd) : undefined;
      if (file === undefined)
        throw new UsageError(`${name}: path must be an absolute path, not ${JSON.stringify(asked)}`);
      return { text: await run({ ...requested, file }, defined({ signal })), isError: false };
    },
  };
}

async function readText(
  files: Files,
  file: string,
  options: { readonly signal?: AbortSignal },
): Promise<string> {
  const bytes = await files.read(file, { maxBytes: MAX_FILE_BYTES, ...options });
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`${file} is not a UTF-8 text file; use exec_command`);
  }
}

/** Some lines, and a note on what was left out. */
function linesOf(text: string, first: number, limit: number): string {
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines.slice(first - 1, first - 1 + limit);
  let kept = "";
  let count = 0;
  for (const line of shown) {
    if (kept.length + line.length > MAX_CHARACTERS) break;
    kept += `${line}\n`;
    count += 1;
  }
  if (count === 0 && shown.length > 0)
    return `Line ${first} has ${shown[0]!.length} characters, which is too long to be shown; use exec_command`;
  if (first - 1 + count >= lines.length) return kept;
  return `${kept}(lines ${first} to ${first - 1 + count} of ${lines.length})`;
}
