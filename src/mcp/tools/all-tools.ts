import { UsageError } from "../../base/errors.ts";
import { changingTools } from "./change-files.ts";
import { httpRequestTool } from "./http-request.ts";
import { listDirectoryTool } from "./list-directory.ts";
import { processTools, type Surroundings } from "./process-tools.ts";
import { readFileTool } from "./read-file.ts";
import { searchFilesTool } from "./search-files.ts";
import type { McpTool } from "./tool.ts";
import { waitForTool } from "./wait-for.ts";

/** Which tools there are. */
export interface ToolChoice {
  /** Only these. Default: all. */
  readonly names?: readonly string[] | undefined;
  /** Without those that change files. */
  readonly readOnly: boolean;
  /** Only those that need nothing but files. */
  readonly filesOnly: boolean;
  readonly hasNetwork: boolean;
}

/** The tools by name. Throws a UsageError if one that was chosen does not exist. */
export function chosenTools(surroundings: Surroundings, choice: ToolChoice): ReadonlyMap<string, McpTool> {
  const ofFiles = [
    readFileTool(surroundings),
    ...(choice.readOnly ? [] : changingTools(surroundings)),
    listDirectoryTool(surroundings),
  ];
  const all = choice.filesOnly
    ? ofFiles
    : [
        ...processTools(surroundings),
        waitForTool(surroundings),
        ...ofFiles,
        searchFilesTool(surroundings),
        ...(choice.hasNetwork ? [httpRequestTool(surroundings)] : []),
      ];
  const byName = new Map(all.map((tool) => [tool.definition.name, tool]));
  const { names } = choice;
  if (names === undefined) return byName;
  const known = [...byName.keys()].join(", ");
  return new Map(
    names.flatMap((name) => {
      const tool = byName.get(name);
      if (tool !== undefined) return [[name, tool] as const];
      // The names are chosen for all tokens of a server.
      if (choice.filesOnly) return [];
      throw new UsageError(`there is no tool '${name}' here; there are ${known}`);
    }),
  );
}
