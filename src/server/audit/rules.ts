import type { MethodName, Params } from "../../protocol/index.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import { decodedBytes } from "./answer-bytes.ts";
import { cut, redactArgv, redactUrl, variableNames } from "./redact.ts";

/** What the log holds of a method. */
export type Rule<P = never> =
  /** Nothing. */
  | { readonly kind: "none" }
  /** A line for each request, when it comes; a second one if it fails. */
  | {
      readonly kind: "line";
      readonly event: string;
      readonly facts: (params: P, attachment: Attachment | undefined) => object;
      /** Whether it is carried out although it cannot be recorded: it only ends something, or has to work then. */
      readonly always?: true;
    }
  /** A line for the process that it has started, or for its failure. */
  | {
      readonly kind: "start";
      /** Absent if the client does not choose it. */
      readonly process?: (params: P) => string;
      readonly facts: (params: P) => object;
    }
  /** A line for each request, when it is answered. */
  | {
      readonly kind: "read";
      readonly event: string;
      readonly facts: (params: P) => object;
      /** Whether its answer is the contents of a file, whose bytes are counted. */
      readonly hasContents?: true;
      readonly always?: true;
    }
  /** Many requests about one thing share a line. */
  | {
      readonly kind: "tally";
      readonly event: string;
      /** The thing, by its name in the line. */
      readonly of: (params: P) => readonly [kind: "process" | "handle" | "tcp", id: string];
      /** Bytes of the request; of the answer, if absent. */
      readonly bytes?: (params: P, attachment: Attachment | undefined) => number;
      readonly always?: true;
    }
  /** Ends the tallies of a thing. */
  | { readonly kind: "end"; readonly of: (params: P) => readonly [kind: "handle" | "tcp", id: string] };

const NONE: Rule = { kind: "none" };
/** Of one request. */
const MAX_ROOTS = 32;
const MAX_ROOT_CHARACTERS = 1_024;

const path = ({ path }: { path: string }): object => ({ path: cut(path) });
const handle = ({ handleId }: { handleId: string }) => ["handle", handleId] as const;
const tcp = ({ tcpId }: { tcpId: string }) => ["tcp", tcpId] as const;
const processOf = ({ processId }: { processId: string }) => ["process", processId] as const;
const bytesOf = (base64: string | null | undefined, attachment?: Attachment): number =>
  attachment?.bytes.length ?? decodedBytes(base64 ?? "");
/** Output is also sent unasked; the line of the end has its length. */
const notCounted = (): number => 0;

const changeOf = (event: string) => ({ kind: "line", event, facts: path }) as const;
const readOf = (event: string) => ({ kind: "read", event, facts: path }) as const;

/** Every method has one, so that a new method is not forgotten. */
export const RULES: { readonly [M in MethodName]: Rule<Params<M>> } = {
  initialize: {
    kind: "read",
    event: "session",
    // The id itself would open the session.
    facts: ({ clientName, resumeSessionId }) => ({
      client: cut(clientName, 256),
      resumes: typeof resumeSessionId === "string" ? true : undefined,
    }),
    always: true,
  },
  "process/start": { kind: "start", process: ({ processId }) => processId, facts: startFacts },
  "process/read": { kind: "tally", event: "output", of: processOf, bytes: notCounted, always: true },
  "process/write": {
    kind: "tally",
    event: "input",
    of: processOf,
    bytes: ({ chunk }) => bytesOf(chunk),
  },
  "process/signal": {
    kind: "line",
    event: "signal",
    facts: ({ processId, signal }) => ({ process: cut(processId), signal }),
  },
  "process/terminate": {
    kind: "line",
    event: "terminate",
    facts: ({ processId, mode }) => ({ process: cut(processId), mode: mode ?? undefined }),
    always: true,
  },
  "process/attach": {
    kind: "line",
    event: "attach",
    // The session id of another client is a secret.
    facts: ({ name, owner, processId, mode }) => ({
      name: cutOptional(name),
      owner: cutOptional(owner),
      process: cutOptional(processId),
      mode: mode ?? "follow",
    }),
  },
  "process/snapshot": { kind: "tally", event: "output", of: processOf, bytes: notCounted, always: true },
  "process/flow": NONE,
  "process/resize": NONE,
  "process/closeStdin": NONE,
  "process/wait": NONE,
  "process/detach": NONE,
  "process/list": NONE,
  "process/times": NONE,
  "environment/info": NONE,
  "environment/status": NONE,
  // Their answers have the contents of files.
  "environmentConfig/read": { kind: "read", event: "settings", facts: ({ cwd }) => ({ path: cut(cwd) }) },
  "capabilityRoots/discoverV1": {
    kind: "read",
    event: "discover",
    facts: ({ roots }) => ({
      paths: roots.slice(0, MAX_ROOTS).map((root) => cut(root.path, MAX_ROOT_CHARACTERS)),
      more: roots.length > MAX_ROOTS ? roots.length - MAX_ROOTS : undefined,
    }),
  },
  "capabilities/discoverV2": { kind: "read", event: "discover", facts: ({ cwd }) => ({ path: cut(cwd) }) },
  "server/status": NONE,
  // Whoever has the link has the rights of the connection.
  "console/link": { kind: "line", event: "consoleLink", facts: () => ({}) },
  "server/sessions": NONE,
  "server/limits": NONE,
  "server/audit": { kind: "read", event: "readAudit", facts: () => ({}) },
  "server/cordon": { kind: "line", event: "cordon", facts: ({ cordoned }) => ({ cordoned }) },
  "fs/readFile": { ...readOf("readFile"), hasContents: true },
  "fs/hash": readOf("hash"),
  "fs/readDirectory": readOf("list"),
  "fs/walk": readOf("list"),
  "fs/getMetadata": NONE,
  "fs/canonicalize": NONE,
  "fs/readLink": NONE,
  "fs/open": {
    kind: "line",
    event: "open",
    facts: ({ path, handleId, mode }) => ({ path: cut(path), handle: cut(handleId), mode: mode ?? "read" }),
  },
  "fs/openPart": {
    kind: "line",
    event: "open",
    facts: ({ path, handleId }) => ({ path: cut(path), handle: cut(handleId), mode: "part" }),
  },
  "fs/readBlock": { kind: "tally", event: "readBlocks", of: handle },
  "fs/writeBlock": {
    kind: "tally",
    event: "writeBlocks",
    of: handle,
    bytes: ({ chunk }, attachment) => bytesOf(chunk, attachment),
  },
  "fs/close": { kind: "end", of: handle },
  "fs/writeFile": {
    kind: "line",
    event: "writeFile",
    facts: ({ path, dataBase64 }, attachment) => ({
      path: cut(path),
      bytes: bytesOf(dataBase64, attachment),
    }),
  },
  "fs/createDirectory": changeOf("createDirectory"),
  "fs/remove": changeOf("remove"),
  "fs/copy": {
    kind: "line",
    event: "copy",
    facts: (params) => fromTo(params.sourcePath, params.destinationPath),
  },
  "fs/rename": { kind: "line", event: "rename", facts: ({ from, to }) => fromTo(from, to) },
  "fs/chmod": { kind: "line", event: "chmod", facts: ({ path, mode }) => ({ path: cut(path), mode }) },
  "fs/symlink": {
    kind: "line",
    event: "symlink",
    facts: ({ path, target }) => ({ path: cut(path), target: cut(target) }),
  },
  "fs/watch": changeOf("watch"),
  "fs/unwatch": NONE,
  "fs/watchMissing": NONE,
  "http/request": {
    kind: "line",
    event: "http",
    facts: ({ method, url, headers, bodyBase64 }, attachment) => ({
      method: cut(method, 64),
      url: redactUrl(url),
      headers: variableNames(
        Object.fromEntries((headers ?? []).map(({ name }) => [name.toLowerCase(), true])),
      ),
      bytes: bytesOf(bodyBase64, attachment),
    }),
  },
  "http/cancel": NONE,
  "http/flow": NONE,
  "tcp/connect": {
    kind: "line",
    event: "tcp",
    facts: ({ tcpId, host, port }) => ({ tcp: cut(tcpId), host: cut(host), port }),
  },
  "tcp/read": { kind: "tally", event: "received", of: tcp },
  "tcp/write": { kind: "tally", event: "sent", of: tcp, bytes: ({ chunk }) => bytesOf(chunk) },
  "tcp/close": { kind: "end", of: tcp },
  // Its id is not known before.
  "command/exec": { kind: "start", facts: commandFacts },
  "command/exec/write": {
    kind: "tally",
    event: "input",
    of: ({ sessionId }) => ["process", sessionId],
    bytes: ({ chunk }) => bytesOf(chunk),
  },
  "command/exec/terminate": {
    kind: "line",
    event: "terminate",
    facts: ({ sessionId }) => ({ process: cut(sessionId) }),
    always: true,
  },
};

function startFacts(params: Params<"process/start">): object {
  const { cwd, env, envPolicy, tty, keep, sandbox, arg0, argv } = params;
  return {
    name: cutOptional(keep?.name),
    ...redactArgv(argv),
    arg0: cutOptional(arg0),
    cwd: cut(cwd),
    env: variableNames(env),
    inherits: envPolicy === undefined || envPolicy === null ? undefined : true,
    terminal: tty ? true : undefined,
    asksForSandbox: sandbox === undefined || sandbox === null ? undefined : true,
  };
}

function commandFacts({ argv, arg0, cwd, env, tty }: Params<"command/exec">): object {
  return {
    ...redactArgv(argv),
    arg0: cutOptional(arg0),
    cwd: cut(cwd),
    env: variableNames(env),
    terminal: tty ? true : undefined,
  };
}

function fromTo(from: string, to: string): object {
  return { path: cut(from), to: cut(to) };
}

function cutOptional(text: string | null | undefined): string | undefined {
  return typeof text === "string" ? cut(text) : undefined;
}
