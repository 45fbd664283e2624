import type { Json } from "./json-path.ts";
import type { Shape } from "./wire-table.ts";

/** What a new field begins with. */
export interface Beginnings {
  /** A directory of the machine. */
  readonly path: string;
  /** An id that the client chooses, by the name of its field. */
  readonly id: (name: string) => string | undefined;
}

/** The smallest value of a shape: only what is required. */
export function initialValue(shape: Shape, beginnings: Beginnings): Json {
  switch (shape.kind) {
    case "none":
    case "any":
      return null;
    case "switch":
      return false;
    case "text":
      return shape.format === "path" ? beginnings.path : "";
    case "number":
      return shape.least ?? 0;
    case "choice":
      return shape.values[0] ?? null;
    case "list":
      return [];
    case "map":
      return {};
    case "union":
      return shape.options[0] === undefined ? null : initialValue(shape.options[0], beginnings);
    case "object":
      return Object.fromEntries(
        shape.members
          .filter(({ required }) => required)
          .map((member) => [
            member.name,
            member.shape.nullable
              ? null
              : ((member.shape.kind === "text" && member.shape.format === undefined
                  ? beginnings.id(member.name)
                  : undefined) ?? initialValue(member.shape, beginnings)),
          ]),
      );
  }
}
