import { describe, expect, it } from "vitest";
import type { Method } from "./define.ts";
import { environmentInfo, recorded, recordedNotifications } from "../../test/fixtures/recorded-messages.ts";
import { methods, type Notification, type NotificationName, notifications, serverMethods } from "./index.ts";

const table: Record<string, Method> = { ...methods, ...serverMethods };

function definition(name: string): Method {
  const method = table[name];
  if (method === undefined) throw new Error(`no method ${name}`);
  return method;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

describe("recorded messages", () => {
  it("cover every method and notification of Codex's, its first dialect included", () => {
    const ofCodex = (name: string, { extension }: { extension?: true }): boolean =>
      !extension || name.startsWith("command/");
    expect(Object.keys(recorded)).toEqual(
      Object.keys(table).filter((name) => ofCodex(name, definition(name))),
    );
    const theirs = Object.entries(notifications as Record<string, Notification>).filter(
      ([name, notification]) => ofCodex(name, notification),
    );
    expect(Object.keys(recordedNotifications).sort()).toEqual(theirs.map(([name]) => name).sort());
  });

  // Equality, because a member that the table does not know would be left out silently.
  it.each(Object.entries(recorded))("%s keeps every member of its params and result", (name, message) => {
    expect(definition(name).params.parse(message.params)).toEqual(message.params);
    expect(definition(name).result.parse(message.result)).toEqual(message.result);
  });

  it.each(Object.entries(recordedNotifications))(
    "%s keeps every member of its params",
    (name, recordedParams) => {
      const { params } = notifications[name as NotificationName];
      expect(params.parse(recordedParams)).toEqual(recordedParams);
    },
  );

  it.each(Object.entries(recorded).filter(([, { params }]) => isObject(params)))(
    "%s ignores a member it does not know",
    (name, { params }) => {
      const extended = { ...(params as object), notOfThisWire: { deep: [1] } };
      expect(definition(name).params.parse(extended)).toEqual(params);
    },
  );
});

describe("the table", () => {
  it.each([...Object.entries(table), ...Object.entries(notifications)])(
    "%s has a doc sentence",
    (_, { doc }) => {
      expect(doc).toMatch(/^[A-Z].*\.$/);
    },
  );

  it("marks these methods as control", () => {
    const control = Object.keys(table).filter((name) => definition(name).lane === "control");
    expect(control).toEqual([
      "process/signal",
      "process/terminate",
      "environment/info",
      "environment/status",
      "fs/close",
      "command/exec/terminate",
      "server/status",
      "console/link",
      "server/sessions",
      "server/limits",
      "server/metrics",
      "server/audit",
      "server/cordon",
    ]);
  });

  it("gives every method but initialize a family for the gate", () => {
    const without = Object.entries(methods).filter(([, { family }]) => family === null);
    expect(without.map(([name]) => name)).toEqual(["initialize"]);
  });

  it("has these methods that Codex neither sends nor serves", () => {
    expect(Object.keys(table).filter((name) => definition(name).extension)).toEqual([
      "process/flow",
      "process/resize",
      "process/closeStdin",
      "process/wait",
      "process/attach",
      "process/detach",
      "process/rename",
      "process/list",
      "process/ports",
      "process/times",
      "process/snapshot",
      "fs/rename",
      "fs/chmod",
      "fs/symlink",
      "fs/readLink",
      "fs/hash",
      "fs/openPart",
      "fs/watch",
      "fs/unwatch",
      "http/cancel",
      "http/flow",
      "tcp/connect",
      "unix/connect",
      "tcp/listen",
      "unix/listen",
      "tcp/accept",
      "tcp/unlisten",
      "tcp/read",
      "tcp/write",
      "tcp/close",
      "command/exec",
      "command/exec/write",
      "command/exec/terminate",
      "server/status",
      "console/link",
      "server/sessions",
      "server/limits",
      "server/metrics",
      "server/audit",
      "server/cordon",
    ]);
  });
});

describe("environmentInfo", () => {
  const { result } = methods["environment/info"];

  it("needs nothing but the shell", () => {
    const smallest = { shell: { name: "sh", path: "/bin/sh" } };
    expect(result.parse(smallest)).toEqual(smallest);
    expect(result.safeParse({ capabilities: {} }).success).toBe(false);
  });

  it("tolerates capabilities of a newer server", () => {
    const newer = { ...environmentInfo, capabilities: { fsWatchMissing: true, teleport: "often" } };
    expect(result.parse(newer).capabilities).toEqual({ fsWatchMissing: true });
  });

  it("lists extensions by name", () => {
    expect(result.parse({ ...environmentInfo, extensions: ["process/resize"] }).extensions).toEqual([
      "process/resize",
    ]);
  });
});

describe("network decisions", () => {
  const { result } = serverMethods["network/policyRequest"];

  it.each(["deny", "ask"])("%s gives a reason", (type) => {
    expect(result.safeParse({ decision: { type, reason: "" } }).success).toBe(true);
    expect(result.safeParse({ decision: { type } }).success).toBe(false);
    expect(result.safeParse({ decision: { type, reason: null } }).success).toBe(false);
  });
});
