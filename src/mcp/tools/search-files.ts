import { defined } from "../../base/defined.ts";
import { UsageError } from "../../base/errors.ts";
import { joinBytes } from "../../base/join-bytes.ts";
import { shorten } from "../../base/shorten.ts";
import { visibleText } from "../../base/visible-text.ts";
import type { RemoteProcess } from "../../client/process/remote-process.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import { absolutePath } from "./paths.ts";
import type { Surroundings } from "./process-tools.ts";
import { type Match, parseMatches } from "./search-matches.ts";
import { type McpTool, toolDefinition } from "./tool.ts";

const MAX_MATCHES = 200;
/** About 10000 tokens. */
const MAX_CHARACTERS = 40_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const MAX_ERROR_CHARACTERS = 500;
const TIMEOUT_MS = 45_000;

const definition = toolDefinition(
  "search_files",
  "Searches the contents of files below a directory for a regular expression, with ripgrep, or with grep -E where there is " +
    `none. Returns at most ${MAX_MATCHES} lines. Binary files are left out; ripgrep also leaves out hidden files and what ` +
    ".gitignore names.",
  {
    pattern: { type: "string", description: "A regular expression, matched against each line." },
    path: {
      type: "string",
      description:
        "A directory or file, absolute or relative to the working directory, which is the default.",
    },
    glob: { type: "string", description: "Only files whose names match, such as *.ts." },
  },
  ["pattern"],
);

interface SearchArguments {
  readonly pattern: string;
  readonly path?: string | null;
  readonly glob?: string | null;
}

/**
 * Gets the pattern, the path and perhaps the glob. Its first line of output is the program's name; what follows is the
 * same for both: see `parseMatches`.
 */
const SCRIPT = `
if command -v rg >/dev/null 2>&1; then
  echo ripgrep
  exec rg --no-config --null --line-number --no-heading --with-filename --color=never --sort=path \\
    \${3:+"--glob=$3"} "--regexp=$1" -- "$2"
fi
case "$3" in */*)
  echo "this machine has no ripgrep, and grep's glob is for names of files, without a slash: pass the directory as path" >&2
  exit 2
esac
echo grep
exec grep -rnIHZE --color=never --exclude-dir=.git \${3:+"--include=$3"} "--regexp=$1" -- "$2"
`;

/** The tool that searches contents. */
export function searchFilesTool({ enter }: Surroundings): McpTool {
  return {
    definition,
    annotations: { title: "Search in files", readOnlyHint: true, openWorldHint: false },
    outputSchema: {
      type: "object",
      properties: {
        matches: {
          type: "array",
          items: {
            type: "object",
            properties: {
              path: { type: "string" },
              line: { type: "integer", description: "Number of the line." },
              text: { type: "string", description: "The line, shortened if it is long." },
            },
            required: ["path", "line", "text"],
          },
        },
        truncated: { type: "boolean", description: "Whether there are more matches." },
        program: { type: "string", enum: ["ripgrep", "grep"] },
        note: { type: "string", description: "What could not be searched." },
      },
      required: ["matches", "truncated", "program"],
    },
    call: async (args, { signal }) => {
      const requested = checkArguments(definition, args) as unknown as SearchArguments;
      const place = await enter(signal);
      const path = absolutePath("search_files", requested.path ?? "", place.cwd);
      const started = await place.host.start(
        ["/bin/sh", "-c", SCRIPT, "sh", requested.pattern, path, requested.glob ?? ""],
        {
          cwd: place.cwd,
          stdin: "none",
          signal,
          // Characters are those of UTF-8, and messages are English.
          env: { LC_ALL: "C.UTF-8" },
          ...defined({ sandbox: place.readOnly }),
        },
      );
      const found = await read(started, signal);
      const { program } = found;
      const { matches, isCut } = fitting(found.matches);
      const truncated = found.isCut || isCut;
      const lines = matches.map(
        ({ path, line, text }) => `${visibleText(path)}:${line}: ${visibleText(text)}`,
      );
      if (truncated) lines.push("[There are more matches; choose a narrower pattern, path or glob.]");
      if (found.note !== undefined) lines.push(`[${found.note}]`);
      return {
        text: lines.join("\n") || "No line matches.",
        structured: {
          matches,
          truncated,
          program,
          ...(found.note === undefined ? {} : { note: found.note }),
        },
      };
    },
  };
}

async function read(process: RemoteProcess, signal: AbortSignal) {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let complaint = "";
  let isLate = false;
  const kill = (): void => void process.kill().catch(() => {});
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, TIMEOUT_MS);
  try {
    for await (const { stream, bytes: piece } of process.output({ signal })) {
      if (stream === "stderr")
        complaint = shorten(complaint + Buffer.from(piece).toString(), MAX_ERROR_CHARACTERS);
      else pieces.push(piece);
      bytes += piece.length;
      if (bytes > MAX_OUTPUT_BYTES) break;
    }
    const { program, matches } = parseMatches(joinBytes(pieces), MAX_MATCHES + 1);
    if (bytes > MAX_OUTPUT_BYTES || matches.length > MAX_MATCHES) {
      kill();
      return { program, matches: matches.slice(0, MAX_MATCHES), isCut: true, note: undefined };
    }
    const { exitCode } = await process.wait({ signal });
    if (isLate)
      return { program, matches, isCut: true, note: `The search was stopped after ${TIMEOUT_MS / 1000} s.` };
    // 0: found something, 1: found nothing, otherwise something went wrong.
    if (exitCode === 0 || exitCode === 1) return { program, matches, isCut: false, note: undefined };
    const reason = visibleText(complaint.trim()) || `it ended with ${exitCode}`;
    if (matches.length === 0) throw new UsageError(`search_files: ${reason}`);
    return { program, matches, isCut: false, note: `Not everything could be searched: ${reason}` };
  } catch (error) {
    kill();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** As many as fit into the budget. */
function fitting(matches: readonly Match[]): { readonly matches: readonly Match[]; readonly isCut: boolean } {
  let characters = 0;
  const end = matches.findIndex(({ path, text }) => {
    characters += path.length + text.length;
    return characters > MAX_CHARACTERS;
  });
  return end < 0 ? { matches, isCut: false } : { matches: matches.slice(0, end), isCut: true };
}
