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

export const extensionRequirements = {
  "extensions:announced": {
    section: "ours",
    behavior: "Extension methods are announced in environmentInfo.extensions, or answered with -32601.",
  },
  "server.status:tells": ours(
    "server/status tells the server's process id, its start, and how many connections, sessions and running processes it has, and what the client may do.",
  ),

  "server.sessions:lists": ours(
    "server/sessions lists every session with its owner, its client's name and whether it is connected, and never its id.",
  ),
  "server.limits:lists": ours(
    "server/limits lists each limit with its key, unit and value, and what is used of it.",
  ),
  "server.metrics:lists": ours(
    "server/metrics returns a list of values for each metric, of which the last are those of now; all are as long.",
  ),
  "server.cordon:told": ours(
    "server/cordon says that a server is to get no new work, or may get some again; server/status tells it, nothing is refused.",
  ),
  "server.audit:none": ours("server/audit of a server without an audit log is refused as unsupported."),

  "tcp:carries": ours("A TCP connection carries bytes both ways, and each side can end on its own."),
  "tcp.connect:refuses": ours(
    "A port that nobody listens on, a name without an address, a repeated id and impossible values are refused, each with its code.",
  ),
  "tcp.connect:limit": ours(
    "A connection beyond maxTcpConnections is refused; one that is closed makes room.",
    {
      transports: ["cli"],
    },
  ),
  "tcp.connect:sandbox": ours("A server that requires a sandbox opens no TCP connection.", {
    transports: ["cli"],
  }),
  "tcp.read:waits": ours(
    "What is not read makes the sender wait; only one read may wait, and others are not held up.",
  ),
  "tcp.write:limit": ours(
    "What the other side does not read is refused beyond 4 MiB; answers come as it reads.",
  ),
  "tcp:ends": ours("TCP connections end when they are closed, and with the connection of their client."),
  "tcp.listen:accepts": ours(
    "A listener takes connections before they are accepted, in order and with what they sent; each carries bytes both ways.",
  ),
  "tcp.listen:refuses": ours(
    "A port in use, an address of no interface, a repeated id and impossible values are refused, each with its code.",
  ),
  "tcp.listen:limit": ours(
    "A listener beyond maxListenersPerConnection or maxListeners is refused; one that is closed makes room.",
    {
      transports: ["cli"],
    },
  ),
  "tcp.listen:sandbox": ours(
    "A server that requires a sandbox listens nowhere, and connects to no Unix socket.",
    {
      transports: ["cli"],
    },
  ),
  "tcp.accept:waits": ours(
    "Only one accept of a listener may wait, and others are not held up; closing its id, or the listener, ends it.",
  ),
  "tcp.accept:bounded": ours(
    "Beyond 64 waiting connections, or maxTcpConnections, further ones are cut off.",
    { transports: ["cli"] },
  ),
  "tcp.listen:ends": ours("Listeners end when they are closed, and with the connection of their client."),
  "unix.connect:carries": ours("A Unix socket carries bytes both ways, whatever the length of its path."),
  "unix.connect:refuses": ours(
    "A missing path, one that is no socket, a socket without a listener, and one outside the roots are refused, each with its code.",
    { transports: ["cli"] },
  ),
  "unix.listen:accepts": ours(
    "A new Unix socket has mode 0600, takes connections, and is removed with its listener; an existing path is refused.",
  ),

  "process.flow:holds": ours(
    "A paused process waits, others do not, and after resuming every byte arrives in order.",
  ),
  "process.flow:exit-waits": ours("The end of a paused process is not told before it is resumed."),
  "process.flow:connection-ends": ours("A new connection of the session is not paused.", {
    transports: ["ws", "memory"],
  }),
  "process.flow:unknown": ours("An unknown process is refused; a closed one is no error."),

  "process.start:terminal-size": oursToo("terminalSize is the size of the new terminal."),
  "process.start:terminal-locale": oursToo(
    "A terminal with terminalSize or keep has the locale C.UTF-8 if the server's environment names none.",
    { transports: ["cli"] },
  ),
  "process.start:sandbox-agent": oursToo(
    "A sandboxed process does not inherit SSH_AUTH_SOCK; a request can set it.",
    { transports: ["cli"], note: "Passes it on." },
  ),
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

  "process.attach:follows": ours("A second connection gets the same events, and may read and wait.", {
    transports: ["ws", "memory"],
  }),
  "process.attach:only-looks": ours("An attached process cannot be written to, signalled or ended.", {
    transports: ["ws", "memory"],
  }),
  "process.attach:id": ours("An attached process may have another id, which must be free and then is not.", {
    transports: ["ws", "memory"],
  }),
  "process.attach:slow": ours("A follower that takes nothing delays nobody, and is told what it missed.", {
    transports: ["ws", "memory"],
  }),
  "process.attach:unknown": ours(
    "Without the id of a session and of a process in it there is nothing to attach.",
  ),
  "process.detach:stops": ours("After detaching no events come.", { transports: ["ws", "memory"] }),
  "process.detach:own": ours("A session's own process can be detached, and attached again without a loss."),

  "process.keep:outlives": oursToo(
    "A kept process goes on without its connection, and others find it by its name.",
    {
      transports: ["ws", "memory"],
    },
  ),
  "process.keep:started": oursToo("Who has started a kept process controls it under the id of the start.", {
    transports: ["ws", "memory"],
  }),
  "process.keep:pipelined": oursToo(
    "Requests behind a kept start, by its id or by its name, see the process.",
    { transports: ["ws", "memory"] },
  ),
  "process.keep:names": oursToo(
    "A name is unique, has few characters, and is free again when it is replaced.",
    {
      transports: ["ws", "memory"],
    },
  ),
  "process.keep:race": oursToo("Of several starts with one name at the same time exactly one succeeds.", {
    transports: ["ws", "memory"],
  }),
  "process.keep:failed": oursToo("A kept start that fails leaves no name behind.", {
    transports: ["ws", "memory"],
  }),
  "process.keep:forgotten": oursToo(
    "Whoever controls a kept process that has ended can have it forgotten; one that runs stays.",
    { transports: ["ws", "memory"] },
  ),
  "process.keep:renamed": oursToo(
    "Whoever controls a kept process can give it another free name; who is attached to it stays attached.",
    { transports: ["ws", "memory"] },
  ),
  "process.keep:repeated": oursToo(
    "A repeated start with the same key has the same answer, also after a resume.",
    {
      transports: ["ws", "memory"],
    },
  ),
  "process.keep:resumed": oursToo(
    "Attachments to kept processes survive the reconnection of their session.",
    {
      transports: ["ws", "memory"],
    },
  ),
  "process.keep:window": oursToo("The window of the one who typed last counts, or the newest one.", {
    transports: ["ws", "memory"],
  }),
  "process.keep:stdio": oursToo("A server on stdio ends with its client: it keeps nothing, and says so.", {
    transports: ["stdio"],
  }),
  "process.attach:name": ours("A kept process is attached by its name, to follow it or to control it.", {
    transports: ["ws", "memory"],
  }),
  "process.attach:name-repeated": ours(
    "Attaching to a kept process again under the same id changes nothing; under another one it is attached twice.",
    { transports: ["ws", "memory"] },
  ),
  "process.attach:name-params": ours("A name stands alone, must be known, and control needs one."),
  "process.list:kept": ours(
    "Kept processes are listed with their names, owners and numbers of connections.",
    {
      transports: ["ws", "memory"],
    },
  ),

  "process.list:session": ours(
    "The session's processes are listed in the order of their start, ended ones included.",
  ),
  "process.list:usage": oursToo(
    "On request, running processes are listed with the processor time and memory of all that they started.",
  ),
  "process.list:after": ours(
    "After a process, those that were started later are listed, if they fit in a message; `more` says whether all did.",
  ),
  "process.list:other-sessions": ours("The processes of other sessions are not listed."),
  "process.list:server-scope": ours(
    "Listing all sessions is refused, because the server is not set up for it.",
  ),
  "process.ports:own": ours(
    "The ports on which a process and what it started listen are listed, from when they are opened until they are closed.",
  ),
  "process.ports:others": ours("Ports of processes that the client did not start are not listed."),
  "process.times:order": ours(
    "Every retained event has a time between its start and now, and times do not decrease.",
  ),
  "process.times:age": ours("Times can be had from the first event on that is not older than an age."),
  "process.read:parts": ours(
    "A read that may reach back to disk is answered in parts, which say whether there is more and where the exit is.",
  ),
  "process.start:spool": ours("A start that needs a disk is refused by a server that is not durable."),
  "process.times:from": ours("Times can be had from an event on, and none are there beyond the last event."),
  "process.snapshot:whole": ours("A small output is returned whole, stream by stream."),
  "process.snapshot:edges": ours(
    "Of a large output the beginning and the end are returned, and what lies between is counted.",
  ),
  "process.snapshot:quiet-stream": ours("A few lines on stderr survive a flood of stdout."),
  "process.snapshot:terminal": ours("A terminal has one stream, pty."),
  "process.snapshot:screen": ours(
    "A snapshot can tell what the terminal shows: overwritten text is gone, and the cursor is where the program left it.",
  ),
  "process.snapshot:paint": ours(
    "A snapshot can have what paints the screen on an empty terminal; the output from its nextSeq on continues it.",
  ),
  "process.start:follow-screen": oursToo(
    "A screen that is followed from the start is right although its beginning was evicted.",
  ),
  "process.snapshot:no-screen": ours("A process on pipes has no screen."),
  "process.snapshot:unknown": ours("An unknown process is refused."),

  "http.cancel:body": ours("A cancelled stream ends with an error, and the upstream connection is closed."),
  "http.cancel:head": ours("A request that is cancelled before its head fails."),
  "http.cancel:other": ours("Cancelling what does not stream is no error and touches nothing else."),

  "files.rename:moves": ours("Files, links and directories move; a file at the new place is replaced."),
  "files.rename:refuses": ours("What is missing or cannot be moved is refused, and stays."),

  "files.chmod:sets": ours(
    "Permissions of files and directories are set, whatever the umask, also by a link.",
  ),
  "files.chmod:refuses": ours("Missing paths, broken links and modes that are none are refused."),
  "files.symlink:creates": ours("A link has the text that was given, whether or not it leads anywhere."),
  "files.symlink:exists": ours("What exists is not replaced, unless the request says so."),
  "files.symlink:replaces": ours(
    "With replace a file or a link is replaced, never followed, and never a directory.",
  ),
  "files.symlink:refuses": ours(
    "Empty and impossible targets, missing directories and long names are refused.",
  ),
  "files.readLink:reads": ours("The text of a link is told as it is."),
  "files.readLink:refuses": ours(
    "What is no link, is missing, or has a target that is not UTF-8 is refused.",
  ),
  "files.hash:files": ours(
    "The SHA-256 of a file, of a part of it, and of several files of a directory is told.",
  ),
  "files.hash:refuses": ours("What is no file, is missing, or is no name of an entry is refused."),
  "files.hash:order": ours("A hash sees what was written before it, and nothing waits for it."),
  "files.open-part:continues": ours("A part keeps as much as was asked for, and is continued from there."),
  "files.open-part:refuses": ours(
    "Links, files with several names, and parts that are shorter than what is to be kept are refused.",
  ),
  "files.read:limit": oursToo(
    "A file that is longer than the request wants is not read, and its size is told instead, also in a sandbox.",
  ),
  "files.write:mode": oursToo(
    "A written file has the mode that was asked for, be it new, replaced or linked to.",
  ),
  "files.write:mode-refuses": oursToo("A mode that is none is refused, and nothing is written."),
  "files.metadata:mode": oursToo("The mode is told to those who ask for it, and to no others."),
  "files.list:detailed": oursToo(
    "A detailed listing has links as links, broken ones too, with the mode and size of each entry.",
  ),

  "files.watch:directory": ours(
    "What comes, goes and changes in a watched directory is told, but not what is deeper.",
  ),
  "files.watch:recursive": ours("A recursive watch tells of directories that came later, too."),
  "files.watch:file": ours("A watched file is still watched after it was replaced."),
  "files.watch:burst": ours("A burst of more changes than a notification holds is told as an overflow."),
  "files.watch:ended": ours("The removal of what is watched ends the watch, and its id is free again."),
  "files.watch:unwatch": ours("After fs/unwatch nothing is told; an unknown id is no error."),
  "files.watch:refuses": ours("Missing paths, ids in use and file systems that tell nothing are refused."),

  "process.signal:names": oursToo("Each name of a signal sends that signal.", {
    note: "Knows only `interrupt`; any other name is -32602.",
  }),
  "process.signal:stop": oursToo("A stopped process goes on when it is continued.", {
    note: "Knows only `interrupt`; any other name is -32602.",
  }),

  "process.terminate:graceful": oursToo("A graceful end leaves the process its own way to go."),
  "process.terminate:grace-ends": oursToo("After timeoutMs a process that does not go is killed."),
  "process.terminate:grace-group": oursToo(
    "After timeoutMs what the process left in its group is killed too.",
  ),
  "process.terminate:left-behind": oursToo(
    "With a mode, what an exited process left on its output ends, and the output with it; without, neither does.",
  ),
  "process.terminate:now-in-grace": oursToo("A process that is asked to go can still be killed at once."),

  "process.start:timeout": oursToo("After timeoutMs a process is ended, and reported as timed out."),
  "process.start:timeout-in-time": oursToo("A process that ends in time is not reported as timed out."),
  "process.start:close-on-exit": oursToo(
    "With closeOnExit the output ends with the process, whoever holds it open, and what was written before is sent.",
  ),
  "process.start:close-on-exit-at-once": oursToo(
    "With closeOnExit the end of the shortest process is told too.",
  ),
  "process.start:close-on-exit-flood": oursToo(
    "With closeOnExit not even one who writes without end delays the end.",
  ),
  "process.start:idempotency": oursToo(
    "A start that is repeated with the same key and parameters starts nothing and is answered alike.",
  ),
  "process.start:pid": oursToo(
    "With `tellPid` the answer has the number of the process, and without it never.",
  ),
  "process.start:reported": oursToo(
    "With `reportStarts` in initialize, process/started precedes the answer to a start, and process/failed its error; without it, neither is sent.",
  ),
  "process.start:idempotency-conflict": oursToo("A key that was used for another start is refused."),
  "process.start:idempotency-failed": oursToo("The key of a start that failed may be used again."),
  "process.start:limits": oursToo("Limits are set before the program runs, and bite."),
  "process.start:limits-transparent": oursToo(
    "A program with limits has its arguments, environment, directory, input and terminal as without.",
  ),
  "process.start:limits-refused": oursToo("A limit that cannot be had is refused, and nothing is started."),

  "process.start:secrets": oursToo(
    "A process that names secrets has stand-ins for them, wherever they occur in its variables, and a proxy.",
  ),
  "process.start:secrets-refused": oursToo(
    "A secret that is unknown, twice there or without hosts is refused, and nothing is started.",
  ),

  "process.exit:signal": oursToo("The exit report names the signal, and who had it sent."),
  "process.exit:usage": oursToo(
    "The exit report tells processor time, and a peak of memory above the server's own.",
  ),
  "process.exit:everywhere": oursToo(
    "process/exited, process/read and process/wait give the same exit report.",
  ),
} satisfies Requirements;
