import type { MethodName, Params } from "../../protocol/index.ts";
import type { Attachment } from "../../rpc/incoming-request.ts";
import { decodedBytes } from "./answer-bytes.ts";
import { cut, redactArgv, redactUrl, variableNames } from "./redact.ts";

/** How a method is recorded. */
export type Rule<P = never> =
  /** It is not recorded. */
  | { readonly kind: "none" }
  /** A line for each request, when it comes; a second one if it fails. */
  | {
      readonly kind: "line";
      readonly event: string;
      readonly facts: (params: P, attachment: Attachment | undefined) => object;
      /** Whether it is carried out even if it cannot be recorded: it only ends something, or must work in that case. */
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
      /** Whether its answer is a file's contents, whose bytes are counted. */
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
/** Maximum per request. */
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

type LineFacts<P> = (params: P, attachment: Attachment | undefined) => object;
const line = <P>(event: string, facts: LineFacts<P>) => ({ kind: "line", event, facts }) as const;
const read = <P>(event: string, facts: (params: P) => object) => ({ kind: "read", event, facts }) as const;

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
  "process/write": { kind: "tally", event: "input", of: processOf, bytes: ({ chunk }) => bytesOf(chunk) },
  "process/signal": line("signal", ({ processId, signal }) => ({ process: cut(processId), signal })),
  "process/terminate": {
    kind: "line",
    event: "terminate",
    facts: ({ processId, mode }) => ({ process: cut(processId), mode: mode ?? undefined }),
    always: true,
  },
  // The session id of another client is a secret.
  "process/attach": line("attach", ({ name, owner, processId, mode }) => ({
    name: cutOptional(name),
    owner: cutOptional(owner),
    process: cutOptional(processId),
    mode: mode ?? "follow",
  })),
  "process/snapshot": { kind: "tally", event: "output", of: processOf, bytes: notCounted, always: true },
  "process/flow": NONE,
  "process/resize": NONE,
  "process/closeStdin": NONE,
  "process/wait": NONE,
  "process/detach": NONE,
  "process/rename": line("renameProcess", ({ processId, name }) => ({
    process: cut(processId),
    name: cut(name),
  })),
  "process/list": NONE,
  "process/ports": NONE,
  "process/times": NONE,
  "environment/info": NONE,
  "environment/status": NONE,
  // Their answers contain file contents.
  "environmentConfig/read": read("settings", ({ cwd }) => ({ path: cut(cwd) })),
  "capabilityRoots/discoverV1": read("discover", ({ roots }) => ({
    paths: roots.slice(0, MAX_ROOTS).map((root) => cut(root.path, MAX_ROOT_CHARACTERS)),
    more: roots.length > MAX_ROOTS ? roots.length - MAX_ROOTS : undefined,
  })),
  "capabilities/discoverV2": read("discover", ({ cwd }) => ({ path: cut(cwd) })),
  "server/status": NONE,
  // The link gives its holder the rights of the connection.
  "console/link": line("consoleLink", () => ({})),
  "server/sessions": NONE,
  "server/limits": NONE,
  "server/metrics": NONE,
  "server/audit": read("readAudit", () => ({})),
  "server/cordon": line("cordon", ({ cordoned }) => ({ cordoned })),
  "fs/readFile": { ...read("readFile", path), hasContents: true },
  "fs/hash": read("hash", path),
  "fs/readDirectory": read("list", path),
  "fs/walk": read("list", path),
  "fs/getMetadata": NONE,
  "fs/canonicalize": NONE,
  "fs/readLink": NONE,
  "fs/open": line("open", ({ path, handleId, mode }) => ({
    path: cut(path),
    handle: cut(handleId),
    mode: mode ?? "read",
  })),
  "fs/openPart": line("open", ({ path, handleId }) => ({
    path: cut(path),
    handle: cut(handleId),
    mode: "part",
  })),
  "fs/readBlock": { kind: "tally", event: "readBlocks", of: handle },
  "fs/writeBlock": {
    kind: "tally",
    event: "writeBlocks",
    of: handle,
    bytes: ({ chunk }, attachment) => bytesOf(chunk, attachment),
  },
  "fs/close": { kind: "end", of: handle },
  "fs/writeFile": line("writeFile", ({ path, dataBase64 }, attachment) => ({
    path: cut(path),
    bytes: bytesOf(dataBase64, attachment),
  })),
  "fs/createDirectory": line("createDirectory", path),
  "fs/remove": line("remove", path),
  "fs/copy": line("copy", ({ sourcePath, destinationPath }) => fromTo(sourcePath, destinationPath)),
  "fs/rename": line("rename", ({ from, to }) => fromTo(from, to)),
  "fs/chmod": line("chmod", ({ path, mode }) => ({ path: cut(path), mode })),
  "fs/symlink": line("symlink", ({ path, target }) => ({ path: cut(path), target: cut(target) })),
  "fs/watch": line("watch", path),
  "fs/unwatch": NONE,
  "fs/watchMissing": NONE,
  "http/request": line("http", ({ method, url, headers, bodyBase64 }, attachment) => ({
    method: cut(method, 64),
    url: redactUrl(url),
    headers: variableNames(Object.fromEntries((headers ?? []).map(({ name }) => [name.toLowerCase(), true]))),
    bytes: bytesOf(bodyBase64, attachment),
  })),
  "http/cancel": NONE,
  "http/flow": NONE,
  "tcp/connect": line("tcp", ({ tcpId, host, port }) => ({ tcp: cut(tcpId), host: cut(host), port })),
  "unix/connect": line("unix", ({ tcpId, path }) => ({ tcp: cut(tcpId), path: cut(path) })),
  "tcp/listen": line("listen", ({ listenId, host, port }) => ({
    listener: cut(listenId),
    host: cutOptional(host),
    port,
  })),
  "unix/listen": line("listen", ({ listenId, path }) => ({ listener: cut(listenId), path: cut(path) })),
  "tcp/accept": read("accept", ({ listenId, tcpId }) => ({ listener: cut(listenId), tcp: cut(tcpId) })),
  "tcp/unlisten": NONE,
  "tcp/read": { kind: "tally", event: "received", of: tcp },
  "tcp/write": { kind: "tally", event: "sent", of: tcp, bytes: ({ chunk }) => bytesOf(chunk) },
  "tcp/close": { kind: "end", of: tcp },
  // Its id is not known in advance.
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
  const { cwd, env, envPolicy, tty, keep, sandbox, secrets, arg0, argv } = params;
  return {
    name: cutOptional(keep?.name),
    ...redactArgv(argv),
    arg0: cutOptional(arg0),
    cwd: cut(cwd),
    env: variableNames(env),
    inherits: envPolicy === undefined || envPolicy === null ? undefined : true,
    secrets: secrets?.map(({ name }) => cut(name)),
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
