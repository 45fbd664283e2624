import type { Method } from "../../protocol/define.ts";
import { type MethodName, methods } from "../../protocol/index.ts";

/**
 * Extensions of a server with these handlers: methods as `process/list`, fields of Codex methods, and fields
 * that were added later, as `process/start.label`.
 */
export function listExtensions(handlers: { readonly [M in MethodName]?: unknown }): string[] {
  return Object.keys(handlers)
    .flatMap((name) => {
      const definition: Method = methods[name as MethodName];
      const params = (definition.extensionParams ?? []).map((param) => `${name}.${param}`);
      return definition.extension ? [name, ...params] : params;
    })
    .toSorted();
}
