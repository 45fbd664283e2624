import type { Requirements } from "./requirement.ts";

const spawnRequirements = {
  "spawn.pipe:own-session": {
    section: "10.1",
    behavior:
      "Without a terminal a process leads a session and a group of its own and has no controlling terminal.",
  },
  "spawn.pipe:stdin-null": { section: "10.1", behavior: "stdin is /dev/null, so that reading ends at once." },
  "spawn.pipe:stdin-pipe": { section: "10.1", behavior: "With pipeStdin, stdin is a pipe that stays open." },
  "spawn.pipe:output-pipes": {
    section: "10.1",
    behavior: "stdout and stderr are two pipes, which can be opened again by /dev/stdout and /dev/stderr.",
  },
  "spawn.pipe:environment": {
    section: "10.5",
    behavior: "Without a terminal nothing is added to the environment.",
  },
  "spawn:signals": {
    section: "10.1",
    behavior: "A process starts with no signal ignored and none blocked, SIGPIPE included.",
  },
  "spawn:descriptors": {
    section: "10.1",
    behavior: "A process inherits descriptors 0, 1 and 2 and no other.",
  },
  "spawn:umask": { section: "10.1", behavior: "The umask is that of the server." },
  "spawn:limits": { section: "10.1", behavior: "Resource limits are those of the server." },
  "spawn:argv-exact": {
    section: "10.1",
    behavior: "Arguments arrive as they are: empty, unicode, newlines, quotes, wildcards.",
  },
  "spawn:argv-large": { section: "10.1", behavior: "An argument of 100 KB arrives whole." },
  "spawn:argv-many": { section: "10.1", behavior: "Two thousand arguments arrive in their order." },
  "spawn:env-values": {
    section: "10.1",
    behavior: "Values of variables arrive as they are: empty, unicode, newlines, `=`.",
  },
  "spawn:env-many": { section: "10.1", behavior: "Two thousand variables arrive." },
} satisfies Requirements;

const terminalRequirements = {
  "terminal:size": { section: "10.1", behavior: "A terminal has 24 rows and 80 columns." },
  "terminal:controlling": {
    section: "10.1",
    behavior:
      "The process leads a session whose controlling terminal is the pty, and is its foreground group.",
  },
  "terminal:descriptors": {
    section: "10.1",
    behavior: "stdin, stdout and stderr are all the terminal, and their output is the one stream pty.",
  },
  "terminal:cooked": {
    section: "10.1",
    behavior: "The terminal starts in cooked mode: lines, echo, signal keys, \\n written as \\r\\n.",
  },
  "terminal:echo": { section: "10.1", behavior: "Input is echoed, and handed over line by line." },
  "terminal:interrupt-key": { section: "10.1", behavior: "Ctrl-C interrupts the foreground process." },
  "terminal:end-of-file-key": { section: "10.1", behavior: "Ctrl-D ends the input." },
  "terminal:job-control": {
    section: "10.1",
    behavior: "A shell has job control: Ctrl-Z stops its foreground job and the shell goes on.",
  },
  "terminal:raw": {
    section: "10.1",
    behavior: "A program may switch to raw mode and gets every byte as written.",
  },
  "terminal:environment": {
    section: "10.1",
    behavior: "The server sets neither TERM nor a size; it adds SHELL, the account's shell.",
  },
  "terminal:shell-kept": { section: "10.1", behavior: "A SHELL in the environment is left alone." },
} satisfies Requirements;

const lookupRequirements = {
  "lookup:child-path": {
    section: "10.1",
    behavior: "A program is searched on the PATH that the child gets, with and without a terminal.",
  },
  "lookup:policy-path": {
    section: "10.1",
    behavior: "A PATH that comes from the environment policy is searched too.",
  },
  "lookup:relative-entries": {
    section: "10.1",
    behavior: "Relative and empty entries of PATH mean directories below cwd and cwd itself.",
  },
  "lookup:skips-unusable": {
    section: "10.1",
    behavior: "Files without execute permission, directories and missing entries on PATH are passed over.",
  },
  "lookup:long-name": {
    section: "10.1",
    behavior:
      "A name that is longer than names of files can be is refused with that reason, whatever PATH is.",
  },
  "lookup:nul": {
    section: "10.1",
    behavior: "A name with a NUL is refused as such before it is looked for.",
  },
  "lookup:only-unusable": {
    section: "10.1",
    behavior: "A name for which PATH has only files without execute permission is refused with that reason.",
  },
  "lookup:only-unusable-tty": {
    section: "10.1",
    behavior: "On a terminal the error lists each unusable candidate.",
  },
  "lookup:path-absent": {
    section: "10.1",
    behavior: "Without PATH in the environment, the system's standard directories are searched, not cwd.",
  },
  "lookup:path-absent-tty": {
    section: "10.1",
    behavior: "On a terminal, a bare name without PATH in the environment is refused.",
  },
  "lookup:slash": {
    section: "10.1",
    behavior: "A program with a slash is resolved against cwd, never on PATH.",
  },
  "lookup:dot-slash-tty": {
    section: "10.1",
    behavior: "On a terminal, a program that starts with `./` is resolved against cwd.",
  },
  "lookup:slash-tty": {
    section: "10.1",
    behavior: "On a terminal too, any program with a slash is resolved against cwd, never on PATH.",
    knownFailures: [{ target: "codex", note: "looks for `directory/program` below the entries of PATH" }],
  },
  "arg0:pipe": {
    section: "10.2",
    behavior: "With arg0 the program of argv runs and sees arg0 as its name; an empty one too.",
  },
  "arg0:tty": {
    section: "10.2",
    behavior: "arg0 works on a terminal as it does without.",
    knownFailures: [{ target: "codex", note: "runs arg0 instead of the program" }],
  },
} satisfies Requirements;

const killRequirements = {
  "kill:group": { section: "10.3", behavior: "Terminate kills the children in the process group too." },
  "kill:group-tty": {
    section: "10.3",
    behavior: "On a terminal, terminate kills the children in the process group too.",
  },
  "kill:no-handlers": {
    section: "10.3",
    behavior: "Terminate is SIGKILL at once: no handler runs and nothing can ignore it.",
  },
  "kill:stopped": { section: "10.3", behavior: "A stopped process is killed as well." },
  "kill:escaped-survive": {
    section: "10.3",
    behavior: "A descendant in a session of its own survives, and closed comes although it holds stdout.",
  },
  "kill:tty-exit-code": {
    section: "10.3",
    behavior: "A terminated process on a terminal exits with 137.",
    knownFailures: [{ target: "codex", note: "reports 1" }],
  },
  "kill:exit-spares-background": {
    section: "10.3",
    behavior: "A normal exit does not kill background descendants.",
  },
  "kill:terminate-after-exit-spares-background": {
    section: "10.3",
    behavior: "Terminate after the exit neither kills background descendants nor hastens closed.",
  },
  "kill:server-end-of-input": {
    section: "10.3",
    behavior: "When its stdin ends, a stdio server kills every process group and exits with 0.",
    transports: ["stdio"],
  },
  "kill:server-terminated": {
    section: "10.3",
    behavior: "A server that gets SIGTERM or SIGINT kills every process group and exits with 0.",
    transports: ["cli"],
  },
  "kill:server-terminated-stdio": {
    section: "10.3",
    behavior: "A stdio server that gets SIGTERM does the same, though its stdin is open.",
    transports: ["stdio"],
    knownFailures: [{ target: "codex", note: "leaves only when the next line or the end of stdin arrives" }],
  },
  "kill:server-killed": {
    section: "10.1",
    behavior: "When the server is killed, its direct children get SIGTERM.",
    transports: ["stdio"],
  },
  "kill:server-killed-tty": {
    section: "10.1",
    behavior: "When the server is killed, its terminals hang up.",
    transports: ["stdio"],
  },
} satisfies Requirements;

const exitRequirements = {
  "exit:status": { section: "10.4", behavior: "An exit status is reported as it is: 0, 1, 7, 255." },
  "exit:status-tty": { section: "10.4", behavior: "On a terminal an exit status is reported as it is." },
  "exit:signal": {
    section: "10.4",
    behavior: "A death by signal n is reported as 128 + n, real-time signals included.",
  },
  "exit:signal-tty": {
    section: "10.4",
    behavior: "On a terminal too, a death by signal n is reported as 128 + n.",
    knownFailures: [{ target: "codex", note: "reports 1 for every signal" }],
  },
  "exit:broken-pipe": {
    section: "10.4",
    behavior: "A process whose reader is gone dies of SIGPIPE.",
  },
} satisfies Requirements;

const environmentRequirements = {
  "env:no-policy": {
    section: "10.5",
    behavior: "Without a policy the environment is `env` and nothing else.",
    transports: ["cli"],
  },
  "env:inherit-all": {
    section: "10.5",
    behavior: "`all` inherits every variable of the server.",
    transports: ["cli"],
  },
  "env:inherit-core": {
    section: "10.5",
    behavior: "`core` inherits the eleven core variables, in any case, and no other.",
    transports: ["cli"],
  },
  "env:inherit-none": { section: "10.5", behavior: "`none` inherits nothing.", transports: ["cli"] },
  "env:default-excludes": {
    section: "10.5",
    behavior: "Inherited names with KEY, SECRET or TOKEN in them, in any case, are dropped by default.",
    transports: ["cli"],
  },
  "env:ignore-default-excludes": {
    section: "10.5",
    behavior: "ignoreDefaultExcludes keeps names that look like secrets.",
    transports: ["cli"],
  },
  "env:exclude-wildcards": {
    section: "10.5",
    behavior:
      "`exclude` matches whole names in any case; `*` is any run, `?` one character, brackets are literal.",
    transports: ["cli"],
  },
  "env:wildcard-characters": {
    section: "10.5",
    behavior: "`?` is one Unicode character, and each character is compared in its own lower case.",
    transports: ["cli"],
  },
  "env:any-name": {
    section: "10.5",
    behavior:
      "A variable may have any name without NUL, also `__proto__` and names that objects have of their own.",
    transports: ["cli"],
  },
  "env:wildcard-work": {
    section: "10.5",
    behavior: "Wildcards that would take long to compare are refused, and others go on meanwhile.",
    origin: "ours",
    note: "Compares as long as it takes, which holds up that connection alone.",
    transports: ["cli"],
  },
  "env:set": {
    section: "10.5",
    behavior: "`set` overrides what is inherited and is spared by both kinds of exclusion.",
    transports: ["cli"],
  },
  "env:include-only": {
    section: "10.5",
    behavior: "A non-empty `includeOnly` keeps matching names only, of `set` as well.",
    transports: ["cli"],
  },
  "env:include-only-after-exclude": {
    section: "10.5",
    behavior: "`includeOnly` does not bring back what `exclude` dropped.",
    transports: ["cli"],
  },
  "env:request-wins": {
    section: "10.5",
    behavior: "`env` wins over the policy and is never filtered by it.",
    transports: ["cli"],
  },
  "env:private-names": {
    section: "10.5",
    behavior: "The server's private variables reach no child: not inherited, not by `set`, not by `env`.",
    transports: ["cli"],
  },
  "env:policy-required-members": {
    section: "10.5",
    behavior: "All five members of a policy are required, each of its type.",
  },
  "env:policy-inherit-variants": {
    section: "10.5",
    behavior: "`inherit` must be all, core or none, in lower case.",
  },
} satisfies Requirements;

export const semanticsRequirements = {
  ...spawnRequirements,
  ...terminalRequirements,
  ...lookupRequirements,
  ...killRequirements,
  ...exitRequirements,
  ...environmentRequirements,
} satisfies Requirements;
