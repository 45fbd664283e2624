import { defined } from "../../base/defined.ts";
import { visibleText } from "../../base/visible-text.ts";
import type { Files } from "../../client/files/files.ts";
import type { Host } from "../../client/host/host.ts";
import { checkArguments } from "../../client/tools/arguments.ts";
import { absolutePath } from "./paths.ts";
import type { Surroundings } from "./process-tools.ts";
import { type McpTool, toolDefinition } from "./tool.ts";

const MAX_ENTRIES = 1_000;

const definition = toolDefinition(
  "list_directory",
  `Lists a directory, sorted by name, at most ${MAX_ENTRIES} entries.`,
  {
    path: {
      type: "string",
      description: "The directory, absolute or relative to the working directory, which is the default.",
    },
  },
  [],
);

interface Entry {
  readonly name: string;
  readonly kind: string;
  readonly size?: number;
}

/** The tool that lists a directory. */
export function listDirectoryTool({ enter }: Surroundings): McpTool {
  return {
    definition,
    annotations: { title: "List a directory", readOnlyHint: true, openWorldHint: false },
    outputSchema: {
      type: "object",
      properties: {
        path: { type: "string" },
        entries: {
          type: "array",
          items: {
            type: "object",
            properties: {
              name: { type: "string" },
              kind: { type: "string", enum: ["file", "directory", "link", "other"] },
              size: { type: "integer", description: "Bytes of a file." },
            },
            required: ["name", "kind"],
          },
        },
        omitted: { type: "integer", description: "How many more entries there are." },
      },
      required: ["path", "entries", "omitted"],
    },
    call: async (args, { signal }) => {
      const { path } = checkArguments(definition, args) as { path?: string | null };
      const { host, readableFiles: files, cwd } = await enter(signal);
      const directory = absolutePath("list_directory", path ?? "", cwd);
      const all = await entriesOf(host, files, directory, signal);
      const entries = all.slice(0, MAX_ENTRIES);
      const omitted = all.length - entries.length;
      const lines = entries.map(({ name, kind }) => `${visibleText(name)}${MARKS[kind] ?? ""}`);
      if (omitted > 0) lines.push(`[${omitted} more; exec_command lists them, such as ls]`);
      return {
        text: lines.join("\n") || "The directory is empty.",
        structured: { path: directory, entries, omitted },
      };
    },
  };
}

const MARKS: Readonly<Record<string, string>> = { directory: "/", link: "@" };

async function entriesOf(
  host: Host,
  files: Files,
  directory: string,
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  if (!host.supports("fs/readDirectory.detailed")) return await files.list(directory, { signal });
  const entries = await files.listDetails(directory, { signal });
  return entries.map(({ name, kind, size }) => ({
    name,
    kind,
    ...defined({ size: kind === "file" ? size : undefined }),
  }));
}
