import { posix } from "node:path";
import { ExecError, UsageError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import { isWellFormed } from "../../base/system-text.ts";
import { FileError, ifPresent } from "../../client/files/file-error.ts";
import type { Files } from "../../client/files/files.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import { type Replacement, replaced, unifiedDiff } from "./diff.ts";
import { absolutePath } from "./paths.ts";
import type { Surroundings } from "./process-tools.ts";
import { type McpTool, toolDefinition } from "./tool.ts";

/** Larger files are for commands. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** About 5000 tokens. */
const MAX_DIFF_CHARACTERS = 20_000;
const MAX_REPLACEMENTS = 10_000;

const path = {
  type: "string",
  description: "The file, absolute or relative to the working directory.",
} as const;

const writeDefinition = toolDefinition(
  "write_file",
  "Creates or replaces a text file, and creates missing parent directories. To change a part of a file, use edit_file.",
  { path, content: { type: "string", description: "The complete new content." } },
  ["path", "content"],
);

const editDefinition = toolDefinition(
  "edit_file",
  "Replaces text in a file, and returns what has changed as a diff. old_string must occur exactly once, unless replace_all is true.",
  {
    path,
    old_string: {
      type: "string",
      description: "What to replace, exactly as it is in the file, with blanks and line ends.",
    },
    new_string: { type: "string", description: "The replacement. Empty: old_string is deleted." },
    replace_all: { type: "boolean", description: "Replace every occurrence. Default false." },
  },
  ["path", "old_string", "new_string"],
);

/** Tools that change files. */
export function changingTools({ enter, sandboxRule }: Surroundings): readonly McpTool[] {
  return [
    {
      definition: writeDefinition,
      annotations: {
        title: "Write a file",
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: false,
      },
      outputSchema: {
        type: "object",
        properties: {
          path: { type: "string" },
          bytes: { type: "integer", description: "Size of the file." },
          created: { type: "boolean", description: "False if it replaced a file." },
        },
        required: ["path", "bytes", "created"],
      },
      call: async (args, { signal }) => {
        const requested = checkArguments(writeDefinition, args) as { path: string; content: string };
        const { files, cwd, sandbox } = await enter(signal);
        const file = absolutePath("write_file", requested.path, cwd);
        checkText("write_file", "content", requested.content);
        checkKept("write_file", file, sandbox !== undefined);
        const bytes = Buffer.byteLength(requested.content);
        const created = await explained(sandboxRule, async () => {
          const before = await ifPresent(files.stat(file, { signal }));
          if (before === undefined) await files.mkdir(directoryOf(file), { signal });
          await files.write(file, requested.content, { signal });
          return before === undefined;
        });
        return {
          text: `${created ? "Created" : "Replaced"} ${file}, ${bytes} bytes`,
          structured: { path: file, bytes, created },
        };
      },
    },
    {
      definition: editDefinition,
      annotations: {
        title: "Edit a file",
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: false,
      },
      outputSchema: {
        type: "object",
        properties: {
          path: { type: "string" },
          replacements: { type: "integer" },
          diff: { type: "string", description: "What has changed, as a unified diff." },
        },
        required: ["path", "replacements", "diff"],
      },
      call: async (args, { signal }) => {
        const requested = checkArguments(editDefinition, args) as unknown as EditArguments;
        const { files, cwd, sandbox } = await enter(signal);
        const file = absolutePath("edit_file", requested.path, cwd);
        checkText("edit_file", "new_string", requested.new_string);
        checkKept("edit_file", file, sandbox !== undefined);
        const text = await readText(files, file, signal);
        const replacements = replacementsIn(text, file, requested);
        await explained(sandboxRule, () => files.write(file, replaced(text, replacements), { signal }));
        const diff = unifiedDiff(file, text, replacements);
        const shown =
          diff.length <= MAX_DIFF_CHARACTERS
            ? diff
            : `${shorten(diff, MAX_DIFF_CHARACTERS)}\n[The diff is longer: ${diff.length} characters.]`;
        const count = replacements.length;
        return { text: shown, structured: { path: file, replacements: count, diff: shown } };
      },
    },
  ];
}

interface EditArguments {
  readonly path: string;
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean | null;
}

const directoryOf = (file: string): string => file.slice(0, Math.max(1, file.lastIndexOf("/")));

/** Throws a UsageError for text that a file would not hold as it is. */
function checkText(tool: string, argument: string, text: string): void {
  if (!isWellFormed(text))
    throw new UsageError(`${tool}: ${argument} contains half of a surrogate pair, which UTF-8 cannot hold`);
}

/** Throws a UsageError for a file that would be gone after the call: each sandbox has a /dev of its own. */
function checkKept(tool: string, file: string, isConfined: boolean): void {
  if (isConfined && /^\/dev(?:\/|$)/.test(posix.normalize(file)))
    throw new UsageError(`${tool}: nothing is kept below /dev in a sandbox; write ${file} elsewhere`);
}

async function readText(files: Files, file: string, signal: AbortSignal): Promise<string> {
  const { size } = await files.stat(file, { signal });
  if (size > MAX_FILE_BYTES)
    throw new UsageError(
      `edit_file: ${file} is larger than ${MAX_FILE_BYTES} bytes; use exec_command, for example with sed`,
    );
  const bytes = await files.read(file, { maxBytes: MAX_FILE_BYTES, signal });
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`edit_file: ${file} is not UTF-8 text; use exec_command`);
  }
}

/** Throws a UsageError that tells the model what to change. */
function replacementsIn(
  text: string,
  file: string,
  { old_string, new_string, replace_all }: EditArguments,
): Replacement[] {
  if (old_string === "")
    throw new UsageError("edit_file: old_string is empty; use write_file for a new file");
  if (old_string === new_string) throw new UsageError("edit_file: old_string and new_string are the same");
  const found: Replacement[] = [];
  for (
    let from = text.indexOf(old_string);
    from >= 0;
    from = text.indexOf(old_string, from + old_string.length)
  ) {
    if (found.length === MAX_REPLACEMENTS)
      throw new UsageError(
        `edit_file: ${file} contains old_string more than ${MAX_REPLACEMENTS} times; use exec_command`,
      );
    found.push({ from, to: from + old_string.length, text: new_string });
  }
  if (found.length === 0)
    throw new UsageError(
      `edit_file: ${file} does not contain old_string; read the file again, and copy the text exactly`,
    );
  if (found.length > 1 && replace_all !== true)
    throw new UsageError(
      `edit_file: ${file} contains old_string ${found.length} times; include more surrounding text to make it unique, or set replace_all`,
    );
  return found;
}

/** Adds to a refusal what the sandbox allows. */
async function explained<T>(sandboxRule: () => string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const { code, errno } = error;
    const isRefusal =
      code === "PERMISSION_DENIED" || errno === "EROFS" || errno === "EACCES" || errno === "EPERM";
    if (!isRefusal) throw error;
    throw new ExecError(code, `${error.message}. ${sandboxRule()}`, { cause: error });
  }
}
