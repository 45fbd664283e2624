import type { Host } from "../../client/browser.ts";
import type { Beginnings } from "./initial-value.ts";

/** Ids that a client chooses, by the method that makes what they name. */
const MAKERS: Readonly<Record<string, string>> = {
  processId: "process/start",
  requestId: "http/request",
  handleId: "fs/open",
  watchId: "fs/watch",
  tcpId: "tcp/connect",
};
/** The latest id of each kind, so that what was opened can be read next. */
const latest = new Map<string, string>();

/** What the fields of a method begin with. */
export function beginningsOf(method: string, host: Host): Beginnings {
  return {
    path: host.environment?.cwd ?? "file:///",
    id: (name) => {
      const maker = MAKERS[name];
      if (maker === undefined) return undefined;
      const isNew = method === maker || (name === "handleId" && method === "fs/openPart");
      const known = latest.get(name);
      if (!isNew) return known;
      const id = `inspector-${crypto.getRandomValues(new Uint32Array(1))[0]!.toString(36)}`;
      latest.set(name, id);
      return id;
    },
  };
}
