import type { Requirements } from "./requirement.ts";

const startRequirements = {
  "sandbox.start:type": {
    section: "11.3",
    behavior:
      "A start with a managed profile answers with the sandbox linuxSeccomp, on pipes and on a terminal.",
  },
  "sandbox.start:empty-argv": { section: "11.3", behavior: "An empty argv is refused under a sandbox, too." },
  "sandbox.start:directory": {
    section: "11.3",
    behavior: "A working directory that does not exist, or is none, is an error of the start.",
  },
  "sandbox.start:denied-directory": {
    section: "11.3",
    behavior:
      "A working directory that the policy denies is no error of the start: the process ends, denied.",
    origin: "ours",
    note: "Codex runs the program in / instead.",
  },
  "sandbox.start:missing-program": {
    section: "10.4",
    behavior:
      "A program that does not exist inside is no error of the start: it ends with 101 and the reason on stderr, denied.",
  },
  "sandbox.start:not-executable": {
    section: "10.4",
    behavior: "So does a program that is a directory or not executable.",
  },
  "sandbox.start:nothing-granted": {
    section: "11.2",
    behavior: "What is not granted does not exist: with an empty policy no program is found.",
  },
  "sandbox.start:legacy-landlock": {
    section: "11.3",
    behavior:
      "useLegacyLandlock with a restricted file system ends with 101 and the reason on stderr, denied.",
    origin: "codex",
    note: "This server refuses the start.",
  },
  "sandbox.start:legacy-landlock-refused": {
    section: "11.3",
    behavior: "useLegacyLandlock with a restricted file system is refused, and the message says why.",
    origin: "ours",
    note: "Codex starts a process that fails with the same message.",
  },
  "sandbox.start:override": { section: "11.1", behavior: "sandboxOverride weakens nothing." },
  "sandbox.start:search-path": {
    section: "11.3",
    behavior: "A PATH of the request without bwrap does not keep a sandbox from starting.",
  },
  "sandbox.start:disabled": {
    section: "11.3",
    behavior: "The profiles disabled and external with network run without protection.",
  },
  "sandbox.start:external-network": {
    section: "11.3",
    behavior: "The profile external with a restricted network may write files, but has no network.",
  },
  "sandbox.start:disabled-type": {
    section: "11.3",
    behavior: "The profile disabled is reported as no sandbox.",
    origin: "ours",
    note: "Codex reports linuxSeccomp, though nothing is enforced.",
  },
} satisfies Requirements;

const endRequirements = {
  "sandbox.exit:status": {
    section: "10.4",
    behavior: "The exit status passes through, on pipes and on a terminal.",
  },
  "sandbox.exit:signal": {
    section: "10.4",
    behavior: "A program that a signal ends exits with 128 and the signal, on pipes and on a terminal.",
  },
  "sandbox.exit:background": {
    section: "11.3",
    behavior:
      "When the program ends, everything that it has started is killed, and the process closes without waiting for it.",
  },
  "sandbox.terminate": {
    section: "11.3",
    behavior: "process/terminate kills the sandbox: the exit code is 137.",
  },
  "sandbox.signal:interrupt": {
    section: "11.3",
    behavior: "process/signal reaches the program and its children, which may handle it.",
    origin: "ours",
    note: "Codex kills the sandbox: traps do not run, and the exit code is 130.",
  },
} satisfies Requirements;

const insideRequirements = {
  "sandbox.inside:environment": {
    section: "10.5",
    behavior: "The environment is that of the request, with PWD set to the working directory.",
  },
  "sandbox.inside:arg0": {
    section: "10.2",
    behavior: "arg0 is what the program sees, on pipes and on a terminal.",
  },
  "sandbox.inside:pipes": {
    section: "10.1",
    behavior: "stdin, stdout and stderr are as without a sandbox, and no other descriptor is open.",
  },
  "sandbox.inside:user": { section: "11.3", behavior: "User, group and umask are those of the server." },
  "sandbox.inside:privileges": {
    section: "11.3",
    behavior: "All capabilities are dropped, no new privileges can be had, and one filter is in force.",
  },
  "sandbox.inside:namespaces": {
    section: "11.3",
    behavior: "User, mount, process and IPC namespaces are new, and that of the network if it is restricted.",
  },
  "sandbox.inside:processes": { section: "11.3", behavior: "Only processes of the sandbox can be seen." },
  "sandbox.inside:devices": {
    section: "11.3",
    behavior: "/dev has the usual harmless devices and nothing of the machine's.",
  },
  "sandbox.inside:read-only": {
    section: "11.2",
    behavior: "What may only be read is a read-only file system; a writable root in it can be written.",
  },
  "sandbox.inside:denied": { section: "11.2", behavior: "What is denied gives EACCES." },
  "sandbox.inside:git": { section: "11.2", behavior: ".git of a writable root is read-only." },
  "sandbox.inside:signals": {
    section: "10.1",
    behavior: "No signal is blocked or ignored.",
    origin: "ours",
    note: "Codex leaves SIGPIPE ignored inside.",
  },
} satisfies Requirements;

const terminalRequirements = {
  "sandbox.terminal:kind": {
    section: "10.1",
    behavior: "All three descriptors are the terminal, with 24 rows and 80 columns.",
  },
  "sandbox.terminal:controlling": {
    section: "10.1",
    behavior: "The terminal controls the program, which leads its session and is in the foreground.",
    origin: "ours",
    note: "Codex has no controlling terminal inside: /dev/tty cannot be opened.",
  },
  "sandbox.terminal:interrupt": {
    section: "10.1",
    behavior: "Ctrl-C interrupts what is in the foreground, which may handle it.",
    origin: "ours",
    note: "Codex kills the sandbox.",
  },
  "sandbox.terminal:jobs": {
    section: "10.1",
    behavior: "A shell has job control: Ctrl-Z stops a command, and fg continues it.",
    origin: "ours",
    note: "A shell inside Codex's sandbox says that it has no job control.",
  },
} satisfies Requirements;

const networkRequirements = {
  "sandbox.network:restricted": {
    section: "11.3",
    behavior: "With a restricted network, sockets of every family but unix fail with EPERM.",
  },
  "sandbox.network:unix": {
    section: "11.3",
    behavior:
      "With a restricted network, unix stream sockets and pairs exist, but connecting fails with EPERM.",
  },
  "sandbox.network:enabled": {
    section: "11.3",
    behavior: "With an enabled network, a connection can be made.",
  },
  "sandbox.network:children-of-node": {
    section: "11.3",
    behavior: "With a restricted network, Node can run a command and wait for it.",
    origin: "ours",
    note: "Codex refuses shutdown(2) even for pairs of sockets, which Node needs.",
  },
} satisfies Requirements;

const deniedRequirements = {
  "sandbox.denied:words": {
    section: "11.4",
    behavior: "An exit code other than 0 and one of seven phrases in the output, in any case, is a denial.",
  },
  "sandbox.denied:no-words": {
    section: "11.4",
    behavior: "Without such a phrase it is none, whatever the exit code.",
  },
  "sandbox.denied:exit-zero": { section: "11.4", behavior: "A process that exits with 0 was not denied." },
  "sandbox.denied:system-call": {
    section: "11.4",
    behavior: "Exit code 159, as of SIGSYS, is a denial without any phrase.",
  },
  "sandbox.denied:usage-codes": {
    section: "11.4",
    behavior: "A phrase counts also with the exit codes 2, 126 and 127.",
  },
  "sandbox.denied:joined": {
    section: "11.4",
    behavior:
      "A phrase may be in several chunks, and even on two streams: they are read in the order of seq.",
  },
  "sandbox.denied:retained": { section: "11.4", behavior: "Only output that is still retained counts." },
  "sandbox.denied:terminal": { section: "11.4", behavior: "A phrase on a terminal counts." },
  "sandbox.denied:read": { section: "11.4", behavior: "process/read tells the same as the event." },
  "sandbox.denied:without-sandbox": {
    section: "11.4",
    behavior: "Without a sandbox nothing is a denial.",
  },
} satisfies Requirements;

/** Processes in a sandbox. */
export const sandboxProcessRequirements = {
  ...startRequirements,
  ...endRequirements,
  ...insideRequirements,
  ...terminalRequirements,
  ...networkRequirements,
  ...deniedRequirements,
} satisfies Requirements;
