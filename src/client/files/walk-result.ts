import { ProtocolError } from "../../base/errors.ts";
import type { Params, Result } from "../../protocol/index.ts";
import type { WalkResult } from "./file-options.ts";
import { pathOf, pathWithin } from "./file-path.ts";

/** Checks and decodes the answer to `fs/walk`. */
export function walkResultOf(
  path: string,
  { path: rootUri, options }: Params<"fs/walk">,
  { entries: listed, errors, truncated }: Result<"fs/walk">,
): WalkResult {
  const root = pathOf(rootUri).path;
  if (listed.length > options.maxEntries)
    throw new ProtocolError(`walk ${path}: ${listed.length} entries, more than requested`);
  const entries = listed.map(({ path: uri, kind }) => ({ ...pathWithin(root, uri), kind }));
  if (entries.some((entry) => entry.path === root))
    throw new ProtocolError(`walk ${path}: the server listed the directory itself`);
  const unnamed = entries.filter(({ exact }) => !exact);
  return {
    entries: entries.filter(({ exact }) => exact).map(({ path, kind }) => ({ path, kind })),
    errors: [
      ...errors.map(({ path: uri, message }) => ({ path: pathWithin(root, uri).path, message })),
      ...unnamed.map(({ path }) => ({ path, message: "the name is not UTF-8" })),
    ],
    truncated,
  };
}
