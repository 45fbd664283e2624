import type { MethodName, Params } from "../../src/protocol/index.ts";

/** Presets that may use a method: full, sandboxed, files to be read, files to be written, observe. */
type Allowed = string;

/** One call of a method that does something, and who may make it. */
type EveryMethod = { readonly [M in MethodName]: readonly [Allowed, Params<M>] };

/** Every method of the wire. A new one does not compile until it has a place here. */
export function everyMethod(uri: string): EveryMethod {
  const file = `${uri}/file`;
  const made = (name: string): string => `${uri}/made-${name}`;
  return {
    initialize: ["fsro", { clientName: "again" }],
    "environment/info": ["fsro", {}],
    "environment/status": ["fsro", {}],
    "server/status": ["fsro", {}],
    "console/link": ["fsro", {}],
    "server/sessions": ["fo", {}],
    "server/limits": ["fo", {}],
    "server/metrics": ["fo", {}],
    "server/audit": ["f", {}],
    "server/cordon": ["f", { cordoned: false }],
    "environmentConfig/read": ["fs", { cwd: uri, configPaths: [["model"]], requirementsPaths: [] }],
    "capabilityRoots/discoverV1": ["fs", { roots: [{ id: "r", path: uri }] }],
    "capabilities/discoverV2": ["fs", { cwd: uri }],
    "fs/readFile": ["fsr", { path: file }],
    "fs/open": ["fsr", { handleId: "h", path: file }],
    "fs/readBlock": ["fsr", { handleId: "h", offset: 0, len: 1 }],
    "fs/close": ["fsr", { handleId: "h" }],
    "fs/getMetadata": ["fsr", { path: file }],
    "fs/canonicalize": ["fsr", { path: file }],
    "fs/readDirectory": ["fsr", { path: uri }],
    "fs/walk": [
      "fsr",
      {
        path: uri,
        options: { maxDepth: 1, maxDirectories: 10, maxEntries: 10, followDirectorySymlinks: false },
      },
    ],
    "fs/readLink": ["fsr", { path: `${uri}/link` }],
    "fs/hash": ["fsr", { path: file }],
    "fs/watch": ["fsr", { watchId: "w", path: uri }],
    "fs/unwatch": ["fsr", { watchId: "w" }],
    "fs/watchMissing": ["fsr", { watchId: 1, missing: [made("missing")] }],
    "fs/writeFile": ["fsw", { path: made("written"), dataBase64: "aGk=" }],
    "fs/openPart": ["fsw", { handleId: "p", path: made("part") }],
    "fs/writeBlock": ["fsw", { handleId: "p", offset: 0, chunk: "aGk=" }],
    "fs/createDirectory": ["fsw", { path: made("directory") }],
    "fs/copy": ["fsw", { sourcePath: file, destinationPath: made("copy"), recursive: false }],
    "fs/symlink": ["fsw", { path: made("link"), target: "file" }],
    "fs/rename": ["fsw", { from: `${uri}/old`, to: made("renamed") }],
    "fs/chmod": ["fsw", { path: file, mode: 0o600 }],
    "fs/remove": ["fsw", { path: `${uri}/doomed` }],
    "process/start": ["fs", start(uri)],
    "process/write": ["fs", { processId: "p", chunk: "aGk=", writeId: "1" }],
    "process/signal": ["fs", { processId: "p", signal: "SIGCONT" }],
    "process/resize": ["fs", { processId: "p", rows: 10, cols: 10 }],
    "process/closeStdin": ["fs", { processId: "p" }],
    "process/read": ["fso", { processId: "p" }],
    "process/wait": ["fso", { processId: "p", timeoutMs: 0 }],
    "process/attach": ["fso", { name: "unknown" }],
    "process/detach": ["fso", { processId: "p" }],
    "process/rename": ["fs", { processId: "p", name: "renamed" }],
    "process/list": ["fso", { scope: "kept" }],
    "process/ports": ["fs", null],
    "process/times": ["fso", { processId: "p" }],
    "process/snapshot": ["fso", { processId: "p" }],
    "process/flow": ["fso", { processId: "p", paused: false }],
    "process/terminate": ["fs", { processId: "p" }],
    "command/exec": [
      "fs",
      { argv: ["touch", `${uri.slice("file://".length)}/made-command`], cwd: uri, env: {}, tty: false },
    ],
    "command/exec/write": ["fs", { sessionId: "session-1", chunk: "aGk=" }],
    "command/exec/terminate": ["fs", { sessionId: "session-1" }],
    "http/request": ["f", { requestId: "r", method: "GET", url: "http://127.0.0.1:9/" }],
    "http/cancel": ["fs", { requestId: "r" }],
    "http/flow": ["fs", { requestId: "r", paused: false }],
    "tcp/connect": ["f", { tcpId: "t", host: "127.0.0.1", port: 9 }],
    "unix/connect": ["f", { tcpId: "u", path: file }],
    "tcp/listen": ["f", { listenId: "l", port: 0 }],
    "unix/listen": ["f", { listenId: "u", path: made("socket") }],
    "tcp/accept": ["fs", { listenId: "unknown", tcpId: "a" }],
    "tcp/unlisten": ["fs", { listenId: "l" }],
    "tcp/read": ["fs", { tcpId: "t" }],
    "tcp/write": ["fs", { tcpId: "t", chunk: "aGk=" }],
    "tcp/close": ["fs", { tcpId: "t" }],
  };
}

function start(uri: string): Params<"process/start"> {
  const directory = uri.slice("file://".length);
  return {
    processId: "p",
    argv: ["sh", "-c", `touch ${directory}/made-process; exec sleep 30`],
    cwd: uri,
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
    tty: false,
    pipeStdin: true,
    arg0: null,
  };
}
