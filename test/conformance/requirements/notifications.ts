import type { Requirements } from "./requirement.ts";

export const notificationsRequirements = {
  "process.events:members": {
    section: "9.1",
    behavior: "Output, exited and closed have exactly their documented members.",
  },
  "process.events:numbering": {
    section: "9.1",
    behavior: "Events are numbered from 1 without gaps over both streams; closed has the highest number.",
  },
  "process.events:once": {
    section: "9.1",
    behavior: "Every process has one exited and one closed, and nothing follows closed.",
  },
  "process.events:ascending": {
    section: "9.1",
    behavior: "Events of a process arrive in the order of their numbers.",
    origin: "ours",
    note: "sends from independent tasks; on rare occasions `closed` overtakes `exited`",
  },
  "process.events:silent-process": {
    section: "9.1",
    behavior: "A process without output has exited as event 1 and closed as event 2.",
  },
  "process.events:own-counters": {
    section: "9.1",
    behavior: "Each process counts its own events.",
  },
  "process.events:live": {
    section: "9.1",
    behavior: "Output is sent while the process runs, as soon as it is written.",
  },
  "process.events:streams": {
    section: "9.1",
    behavior: "stdout and stderr are told apart and each keeps its order.",
  },
  "process.events:every-byte": { section: "9.1", behavior: "Every byte value passes stdout unchanged." },
  "process.events:chunk-size": {
    section: "9.1",
    behavior: "A chunk has at least one byte and at most 65536.",
    note: "sends at most 8192 bytes",
  },
  "process.events:large-output": {
    section: "9.1",
    behavior: "Five mebibytes of output arrive whole, whatever is retained.",
  },
  "process.events:output-after-exited": {
    section: "9.1",
    behavior: "What a background child writes after the exit still arrives, numbered after exited.",
  },
  "process.events:holder-delays-closed": {
    section: "9.1",
    behavior: "A background child that holds stdout delays closed, not exited.",
  },
  "process.events:stderr-holder-delays-closed": {
    section: "9.1",
    behavior: "closed waits for stderr as it does for stdout.",
  },
  "process.events:end-of-output-is-not-exit": {
    section: "9.1",
    behavior: "A process that closes its own output has neither exited nor closed.",
  },
  "process.events:terminal-holder": {
    section: "9.1",
    behavior: "What a background child writes to the terminal after the exit still arrives before closed.",
  },
  "process.retention:whole": {
    section: "9.2",
    behavior: "One mebibyte of output is retained whole.",
  },
  "process.retention:bound": {
    section: "9.2",
    behavior: "Of more output than a mebibyte, the newest chunks that fit are retained, whole and in order.",
  },
  "process.retention:gap": {
    section: "9.2",
    behavior:
      "Evicted output shows only as a jump in seq: reading from the start begins at the oldest chunk kept.",
  },
  "process.retention:streams-share": {
    section: "9.2",
    behavior: "stdout and stderr share the bound.",
  },
  "process.retention:time": {
    section: "9.2",
    behavior:
      "A closed process is forgotten 80 s after closed; then its id is unknown and may be used again.",
    since: "0.169.0",
  },
  "process.retention:time-0.166": {
    section: "9.2",
    behavior: "Up to 0.166 it was forgotten after 30 s.",
    until: "0.166.0",
  },
} satisfies Requirements;
