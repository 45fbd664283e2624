import type { Requirements } from "./requirement.ts";

const startRequirements = {
  "process.start:result": {
    section: "4.1",
    behavior: "A start answers with the process id and the sandbox that is in force.",
  },
  "process.start:ids-any-string": {
    section: "4.1",
    behavior: "A process id may be any string: empty, unicode, control characters, thousands of characters.",
  },
  "process.start:required-members": {
    section: "4.1",
    behavior: "processId, argv, cwd, env and tty are required.",
  },
  "process.start:required-member-types": {
    section: "4.1",
    behavior: "A required member of another type, null included, is refused.",
  },
  "process.start:optional-member-types": {
    section: "4.1",
    behavior: "An optional member of another type is refused.",
  },
  "process.start:optional-null": {
    section: "4.1",
    behavior: "Optional objects and arg0 may be null; optional booleans may not.",
  },
  "process.start:unknown-members": {
    section: "4.1",
    behavior: "Unknown members are ignored.",
  },
  "process.start:metadata-environment": {
    section: "4.1",
    behavior:
      "metadata.threadId and metadata.toolCallId become CODEX_THREAD_ID and CODEX_TOOL_CALL_ID, over `env` and policy.",
  },
  "process.start:metadata-optional": {
    section: "4.1",
    behavior: "Members of metadata may be absent or null, and unknown ones are ignored: they add nothing.",
  },
  "process.start:metadata-thread-id": {
    section: "4.1",
    behavior:
      "threadId must be a UUID; however it is written, the process sees it in lower case with hyphens.",
  },
  "process.start:params-not-object": {
    section: "4.1",
    behavior: "Params that are no object are refused.",
  },
  "process.start:empty-argv": { section: "4.1", behavior: "An empty argv is refused." },
  "process.start:duplicate-running": {
    section: "4.1",
    behavior: "The id of a running process is refused, and the running process does not notice.",
  },
  "process.start:duplicate-closed": {
    section: "4.1",
    behavior: "The id of a process that has closed is refused while that process is retained.",
  },
  "process.start:check-order": {
    section: "4.1",
    behavior: "Params are decoded first, then argv is checked, then the id, then the program.",
  },
  "process.start:failure-frees-id": {
    section: "4.1",
    behavior: "A failed start leaves no process behind: no events, nothing to read, and the id is free.",
  },
  "process.start:missing-program-pipe": {
    section: "4.1",
    behavior: "A program that does not exist is an error of the start, by name and by path.",
  },
  "process.start:missing-program-tty-bare": {
    section: "4.1",
    behavior: "On a terminal, a name found nowhere is an error that shows the PATH that was searched.",
  },
  "process.start:missing-program-tty-absolute": {
    section: "4.1",
    behavior: "On a terminal, an absolute path that does not exist is the error of the operating system.",
  },
  "process.start:missing-interpreter": {
    section: "4.1",
    behavior: "A script whose interpreter does not exist is an error of the start.",
  },
  "process.start:exec-format": {
    section: "4.1",
    behavior: "A file that is no program is an error of the start; no shell runs it instead.",
  },
  "process.start:exec-format-tty-bare": {
    section: "4.1",
    behavior: "On a terminal, a file found on PATH that is no program is an error of the start.",
    knownFailures: [
      { target: "codex", note: "starts, prints `fatal runtime error` of its own and exits with 1" },
    ],
  },
  "process.start:not-executable": {
    section: "4.1",
    behavior: "A file without execute permission and a directory are refused as programs.",
  },
  "process.start:empty-program": {
    section: "4.1",
    behavior: "An empty program name is refused, with and without a terminal.",
  },
  "process.start:nul-in-argv": {
    section: "4.1",
    behavior: "A NUL in an argument, in the program or in arg0 is refused.",
  },
  "process.start:nul-in-env": {
    section: "4.1",
    behavior: "A NUL in the name or value of a variable is refused.",
  },
  "process.start:argument-list-too-long": {
    section: "4.1",
    behavior: "Arguments larger than the operating system takes are an error of the start.",
  },
  "process.start:argument-list-too-long-tty": {
    section: "4.1",
    behavior:
      "On a terminal too, arguments larger than the operating system takes are an error of the start.",
    knownFailures: [
      { target: "codex", note: "starts, prints `fatal runtime error` of its own and exits with 1" },
    ],
  },
  "process.start:cwd": {
    section: "4.1",
    behavior: "The process starts in cwd, with and without a terminal.",
  },
  "process.start:cwd-uri-accepted": {
    section: "3.1",
    behavior:
      "cwd may name localhost, write its scheme in any case, carry dot segments, escapes, raw unicode and a trailing slash.",
  },
  "process.start:cwd-uri-refused": {
    section: "3.1",
    behavior: "A cwd that is no file URI of this kind of machine is refused.",
  },
  "process.start:cwd-missing-pipe": {
    section: "4.1",
    behavior: "A cwd that does not exist, or is no directory, is an error of the start.",
  },
  "process.start:cwd-missing-tty": {
    section: "4.1",
    behavior: "On a terminal too, a cwd that does not exist is an error of the start.",
    knownFailures: [{ target: "codex", note: "starts in HOME instead" }],
  },
  "process.start:cwd-not-directory-tty": {
    section: "4.1",
    behavior: "On a terminal too, a cwd that is no directory is an error of the start.",
    knownFailures: [{ target: "codex", note: "starts in HOME instead" }],
  },
  "process.start:env-name-with-equals": {
    section: "4.1",
    behavior: "A variable whose name contains `=` is handed over as it is.",
  },
  "process.start:pipelined": {
    section: "4.1",
    behavior: "Start, write, read and terminate sent without waiting act as if sent one after another.",
  },
} satisfies Requirements;

const readRequirements = {
  "process.read:silent-process": {
    section: "4.2",
    behavior: "A process that has said nothing yet has no chunks, nextSeq 1 and no exit code.",
  },
  "process.read:closed-process": {
    section: "4.2",
    behavior: "A closed process is read whole: chunks, nextSeq past `closed`, exit code and flags.",
  },
  "process.read:same-as-notifications": {
    section: "4.2",
    behavior: "Read returns the same chunks with the same seq and stream as the notifications.",
  },
  "process.read:repeatable": { section: "4.2", behavior: "Reading consumes nothing." },
  "process.read:after-seq": {
    section: "4.2",
    behavior: "afterSeq leaves out events up to it, and nothing else.",
  },
  "process.read:after-seq-beyond": {
    section: "4.2",
    behavior: "An afterSeq beyond the newest event returns no chunks and the true nextSeq.",
  },
  "process.read:max-bytes-zero": {
    section: "4.2",
    behavior: "The first chunk always comes, even with maxBytes 0, and whole.",
  },
  "process.read:max-bytes-total": {
    section: "4.2",
    behavior:
      "Chunks are added while their total stays within maxBytes; the first that does not fit ends the answer.",
  },
  "process.read:max-bytes-next-seq": {
    section: "4.2",
    behavior:
      "With maxBytes, nextSeq follows the last chunk returned; without one, it follows the newest event.",
  },
  "process.read:pages": {
    section: "4.2",
    behavior: "Reading on from nextSeq - 1 with maxBytes visits every chunk once.",
  },
  "process.read:null-options": {
    section: "4.2",
    behavior: "afterSeq, maxBytes and waitMs may be null, which is as if they were absent.",
  },
  "process.read:numbers": {
    section: "4.2",
    behavior: "afterSeq, maxBytes and waitMs must be unsigned 64-bit integers.",
  },
  "process.read:required-members": { section: "4.2", behavior: "processId is required and a string." },
  "process.read:unknown-process": { section: "4.2", behavior: "An unknown process id is refused." },
  "process.read:wait-output": {
    section: "4.2",
    behavior: "A waiting read returns as soon as there is output.",
  },
  "process.read:wait-unseen-exit": {
    section: "4.2",
    behavior: "A waiting read returns when the process exits, though its output is still open.",
  },
  "process.read:wait-seen-exit": {
    section: "4.2",
    behavior: "A read that has seen the exit waits for what comes after it.",
  },
  "process.read:wait-closed": {
    section: "4.2",
    behavior: "A waiting read that has seen all else returns when the process closes.",
  },
  "process.read:wait-nothing-to-wait-for": {
    section: "4.2",
    behavior: "A read of a closed process does not wait, even when it has seen everything.",
  },
  "process.read:wait-present-output": {
    section: "4.2",
    behavior: "A read does not wait when there is output it has not seen.",
  },
  "process.read:wait-timeout": {
    section: "4.2",
    behavior: "A waiting read returns empty-handed after waitMs.",
  },
} satisfies Requirements;

const writeRequirements = {
  "process.write:pipe": { section: "4.3", behavior: "A write reaches the piped stdin of a process." },
  "process.write:order": {
    section: "4.3",
    behavior: "Writes sent without waiting reach the process in their order.",
  },
  "process.write:every-byte": { section: "4.3", behavior: "Every byte value passes stdin unchanged." },
  "process.write:large": {
    section: "4.3",
    behavior: "A mebibyte written at once comes back whole and in order.",
  },
  "process.write:same-id-once": {
    section: "4.3",
    behavior: "A writeId seen before is accepted and writes nothing, even with other bytes.",
  },
  "process.write:ids-per-process": {
    section: "4.3",
    behavior: "Each process has write ids of its own.",
  },
  "process.write:remembers-ids": {
    section: "4.3",
    behavior: "The last 4096 accepted write ids of a process are remembered, and no more.",
    // Thousands of small exchanges take the real server seconds over a websocket.
    transports: ["stdio", "memory"],
  },
  "process.write:refused-id-is-free": {
    section: "4.3",
    behavior: "The id of a write that found no process is not remembered.",
  },
  "process.write:empty-id": {
    section: "4.3",
    behavior: "An empty writeId is refused, whatever the process.",
  },
  "process.write:required-members": {
    section: "4.3",
    behavior: "processId and chunk are required; they and writeId are strings, and not null.",
  },
  "process.write:bad-base64": {
    section: "3.2",
    behavior: "A chunk that is not standard base64 with padding is refused and leaves its writeId free.",
  },
  "process.write:empty-chunk": {
    section: "4.3",
    behavior: "An empty chunk is accepted, writes nothing, and its id is remembered.",
  },
  "process.write:stdin-closed": {
    section: "4.3",
    behavior: "A process with neither terminal nor piped stdin answers stdinClosed, running or not.",
  },
  "process.write:unknown-process": {
    section: "4.3",
    behavior: "A write to an unknown process is answered with unknownProcess, not with an error.",
  },
  "process.write:after-exit": {
    section: "4.3",
    behavior: "A process with a terminal or a piped stdin accepts writes after its exit.",
  },
  "process.write:after-terminate": {
    section: "4.3",
    behavior: "A write to a terminated process with a terminal or a piped stdin is an error.",
  },
  "process.write:closed-by-child": {
    section: "4.3",
    behavior: "A process that closed its end of stdin still accepts writes, and lives on.",
  },
  "process.write:terminal-without-pipe-stdin": {
    section: "4.3",
    behavior: "A terminal accepts writes whatever pipeStdin says.",
  },
} satisfies Requirements;

const signalRequirements = {
  "process.signal:interrupt": {
    section: "4.4",
    behavior: "`interrupt` is SIGINT, which ends a process with 130.",
  },
  "process.signal:handler": {
    section: "4.4",
    behavior: "A process may handle the signal, without a terminal and on one.",
  },
  "process.signal:group": {
    section: "4.4",
    behavior: "The whole process group gets the signal, children included.",
  },
  "process.signal:repeatable": { section: "4.4", behavior: "Each call is one more signal." },
  "process.signal:unknown-process": {
    section: "4.4",
    behavior: "An unknown process is no error.",
  },
  "process.signal:exited-process": {
    section: "4.4",
    behavior: "A signal to an exited process is no error and does not reach what it left behind.",
  },
  "process.signal:other-signals": {
    section: "4.4",
    behavior: "Anything but `interrupt` is refused.",
  },
  "process.signal:required-members": { section: "4.4", behavior: "processId and signal are required." },
} satisfies Requirements;

const terminateRequirements = {
  "process.terminate:running": {
    section: "4.5",
    behavior: "Terminating a running process answers running true; it exits with 137 and stays readable.",
  },
  "process.terminate:exited": {
    section: "4.5",
    behavior: "Terminating an exited process answers running false.",
  },
  "process.terminate:unknown-process": {
    section: "4.5",
    behavior: "Terminating an unknown process answers running false.",
  },
  "process.terminate:required-members": { section: "4.5", behavior: "processId is required and a string." },
  "process.terminate:only-its-process": {
    section: "4.5",
    behavior: "Other processes of the session do not notice.",
  },
} satisfies Requirements;

export const processRequirements = {
  ...startRequirements,
  ...readRequirements,
  ...writeRequirements,
  ...signalRequirements,
  ...terminateRequirements,
} satisfies Requirements;
