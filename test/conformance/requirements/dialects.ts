import type { Requirements } from "./requirement.ts";

const v0 = {
  section: "15",
  origin: "ours",
  note: "The real server has forgotten this dialect: `command/exec` is an unknown method.",
} as const;

const seeds = {
  section: "14.1",
  origin: "ours",
  note: "The real server refuses it: a path must be a file URI, and a write must have a writeId.",
} as const;

/** Requirements of clients for servers before 0.166. */
export const dialectsRequirements = {
  "v0.initialize:version": { ...v0, behavior: "initialize names the dialect v0 beside what 0.166 says." },
  "v0.gate:before-initialize": { ...v0, behavior: "Before initialize every v0 method is refused." },
  "v0.gate:before-initialized": { ...v0, behavior: "Before initialized every v0 method is refused." },
  "v0.connection:stays-open": {
    ...v0,
    behavior:
      "Where v0 closed the connection or had another error, the rule of 0.166 holds: a malformed message is answered with id -1, an unknown method with -32601.",
  },
  "v0.connection:closes": {
    ...v0,
    behavior:
      "As v0 did, the server ends the connection at an early initialized, at any other notification and at an answer to nothing.",
  },
  "v0.exec:ids": {
    ...v0,
    behavior: "The server numbers the processes of each connection, whatever id the client sends along.",
  },
  "v0.exec:params": {
    ...v0,
    behavior: "argv, cwd, env and tty are required; argv must not be empty, and cwd not relative.",
  },
  "v0.exec:failure": {
    ...v0,
    behavior: "A program or cwd that does not exist is an internal error; its id is not given again.",
  },
  "v0.exec:events": {
    ...v0,
    behavior:
      "A process on pipes tells its output by stream and its exit, with these members and nothing after it.",
  },
  "v0.exec:start-state": {
    ...v0,
    behavior: "cwd may be a native path, env is the whole environment, and arg0 is the program's name.",
  },
  "v0.exec:terminal": {
    ...v0,
    behavior: "On a terminal output is called stdout, and writes reach the process.",
  },
  "v0.exec:bulk": { ...v0, behavior: "8 MiB of output arrive whole and in order." },
  "v0.exec:slow-reader": {
    ...v0,
    behavior: "A client that does not read makes its process wait, and nobody else; then it gets all of it.",
    transports: ["ws"],
  },
  "v0.exec:late-output": { ...v0, behavior: "Output that comes after the exit is still told." },
  "v0.write:pipe": { ...v0, behavior: "A process without a terminal has a closed stdin." },
  "v0.write:unknown": { ...v0, behavior: "A write to an unknown id is an error." },
  "v0.write:bad-base64": { ...v0, behavior: "A chunk that is no base64 is refused." },
  "v0.write:pipelined": {
    ...v0,
    behavior: "A client may use the id that it expects without waiting for the answer to the start.",
  },
  "v0.terminate:running": {
    ...v0,
    behavior: "Terminating answers running true, before the exit is told; then the id is forgotten.",
  },
  "v0.terminate:unknown": { ...v0, behavior: "Terminating an unknown id answers running false." },
  "v0.disconnect:kills": {
    ...v0,
    behavior: "The end of the connection kills its v0 processes at once; those of the session live on.",
    transports: ["ws", "memory"],
  },
  "v0.disconnect:stdio": {
    ...v0,
    behavior: "The end of stdin kills v0 processes.",
    transports: ["stdio"],
  },
  "v0:beside-processes": {
    ...v0,
    behavior: "Both dialects work on one connection, and neither sees the processes of the other.",
  },

  "seeds.path:files": { ...seeds, behavior: "Every file method takes an absolute path as it takes its URI." },
  "seeds.path:verbatim": {
    ...seeds,
    behavior: "An absolute path is taken as it is written, but for dot segments and repeated slashes.",
  },
  "seeds.path:nul": { ...seeds, behavior: "An absolute path with a NUL is refused." },
  "seeds.path:cwd": { ...seeds, behavior: "process/start takes an absolute path as its cwd." },
  "seeds.path:others": {
    ...seeds,
    behavior: "Watches, discovery and the configuration take absolute paths too.",
  },
  "seeds.write:accepted": {
    ...seeds,
    behavior: "A write without a writeId is accepted, says so in both ways, and is written each time.",
  },
  "seeds.write:null-id": { ...seeds, behavior: "A writeId that is null is still refused." },
  "seeds.write:unknown-process": {
    ...seeds,
    behavior: "Without a writeId an unknown process is an error.",
  },
  "seeds.write:stdin-closed": { ...seeds, behavior: "Without a writeId a closed stdin is an error." },
  "seeds.write:after-terminate": {
    ...seeds,
    behavior: "Without a writeId, too, a terminated process takes no more input.",
  },
  "seeds.read:retained": {
    ...seeds,
    behavior: "Output is read after an event, in whole chunks up to maxBytes, and nextSeq leads on.",
  },
  "seeds.read:wait": { ...seeds, behavior: "A waiting read returns with output, and with the exit." },
  "seeds.read:unknown-process": { ...seeds, behavior: "A read of an unknown process is an error." },
  "seeds.terminate:exited": {
    ...seeds,
    behavior: "Terminate answers whether the process had not exited yet; an unknown one had.",
  },
} satisfies Requirements;
