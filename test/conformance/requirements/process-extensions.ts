import type { Requirement, Requirements } from "./requirement.ts";

/** A rule about a method that only this project has. */
function ours(behavior: string, more: Partial<Requirement> = {}): Requirement {
  return { section: "ours", behavior, origin: "ours", note: "Answers -32601.", ...more };
}

/** A rule about a parameter or member that only this project has. */
function oursToo(behavior: string, more: Partial<Requirement> = {}): Requirement {
  return {
    section: "ours",
    behavior,
    origin: "ours",
    note: "Ignores the member, as every unknown one.",
    ...more,
  };
}

export const processExtensionRequirements = {
  "extensions:announced": {
    section: "ours",
    behavior: "Extension methods are announced in environmentInfo.extensions, or answered with -32601.",
  },

  "process.flow:holds": ours(
    "A paused process waits, others do not, and after resuming every byte arrives in order.",
  ),
  "process.flow:exit-waits": ours("The end of a paused process is not told before it is resumed."),
  "process.flow:connection-ends": ours("A new connection of the session is not paused.", {
    transports: ["ws", "memory"],
  }),
  "process.flow:unknown": ours("An unknown process is refused; a closed one is no error."),

  "process.start:terminal-size": oursToo("terminalSize is the size of the new terminal."),
  "process.resize:applies": ours("A resized terminal has the new size, and its program gets SIGWINCH."),
  "process.resize:refuses": ours(
    "Unknown processes, processes without a terminal and impossible sizes are refused; an ended one is no error.",
  ),

  "process.closeStdin:pipe": ours("Queued input is written before the pipe is closed."),
  "process.closeStdin:terminal": ours(
    "A terminal's reader sees the end of its input, also after half a line.",
  ),
  "process.closeStdin:repeated": ours(
    "Closing again, or closing no input, does nothing; writes say stdinClosed.",
  ),
  "process.closeStdin:unknown": ours("An unknown process is refused."),

  "process.wait:exit": ours("A wait is answered when the process has exited, with its exit code."),
  "process.wait:closed": ours("A wait for closed is answered when the output has ended too."),
  "process.wait:timeout": ours("A wait whose time is over says that the process runs."),
  "process.wait:blocks-nobody": ours("Requests behind a wait are answered at once."),
  "process.wait:unknown": ours("An unknown process is refused."),
} satisfies Requirements;
