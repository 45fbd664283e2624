import type { Host } from "../../client/browser.ts";
import type { Json } from "./json-path.ts";
import type { Shape } from "./wire-table.ts";

/** Initial values of fields. */
export interface Beginnings {
  /** A directory on the server's machine. */
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

/** Ids that a client chooses, with the method that creates what they name. */
const MAKERS: Readonly<Record<string, string>> = {
  processId: "process/start",
  requestId: "http/request",
  handleId: "fs/open",
  watchId: "fs/watch",
  tcpId: "tcp/connect",
  listenId: "tcp/listen",
};
/** Further methods that create what such an id names. */
const ALSO_MAKES: Readonly<Record<string, string>> = {
  "fs/openPart": "handleId",
  "unix/connect": "tcpId",
  "tcp/accept": "tcpId",
  "unix/listen": "listenId",
};
/** The latest id of each kind, so that what was opened can be read next. */
const latest = new Map<string, string>();

/** Initial values for a method's fields. */
export function beginningsOf(method: string, host: Host): Beginnings {
  return {
    path: host.environment?.cwd ?? "file:///",
    id: (name) => {
      const maker = MAKERS[name];
      if (maker === undefined) return undefined;
      const isNew = method === maker || ALSO_MAKES[method] === name;
      const known = latest.get(name);
      if (!isNew) return known;
      const id = `inspector-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`;
      latest.set(name, id);
      return id;
    },
  };
}
