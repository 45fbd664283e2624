import { type Attempt, attemptsOf, perl, sh } from "../attempt.ts";

const interfaces = attemptsOf("kernel interfaces", [
  [
    "sets up io_uring",
    "claim",
    perl(
      'my $p = "\\0" x 120; sys("io_uring_setup", 2, $p) >= 0 or failed("io_uring_setup"); escaped("io_uring")',
    ),
    { mayBeUnavailable: "io_uring may be disabled" },
  ],
  [
    "sets up io_uring with network access",
    "claim",
    perl(
      'my $p = "\\0" x 120; sys("io_uring_setup", 2, $p) >= 0 or failed("io_uring_setup"); escaped("io_uring")',
    ),
    { network: "enabled", mayBeUnavailable: "io_uring may be disabled" },
  ],
  [
    "joins a keyring",
    "claim",
    perl('sys("keyctl", 1, 0, 0, 0, 0) > 0 or failed("keyctl"); escaped("keyctl")'),
    { mayBeUnavailable: "the kernel may have no keys", onCodex: "escapes" },
  ],
  [
    "joins a keyring with network access",
    "claim",
    perl('sys("keyctl", 1, 0, 0, 0, 0) > 0 or failed("keyctl"); escaped("keyctl")'),
    { network: "enabled", mayBeUnavailable: "the kernel may have no keys", onCodex: "escapes" },
  ],
  [
    "creates a map of the packet filter",
    "claim",
    perl(
      'my $a = pack("LLLL", 2, 4, 4, 1) . "\\0" x 100; sys("bpf", 0, $a, 72) >= 0 or failed("bpf"); escaped("bpf")',
    ),
    { mayBeUnavailable: "the kernel may have no bpf" },
  ],
  [
    "counts events of the processor",
    "claim",
    // A software event, without those of the kernel: allowed to everyone by default.
    perl(
      'my $a = pack("LLQQQQQ", 1, 64, 0, 0, 0, 0, 0x60) . "\\0" x 16; sys("perf_event_open", $a, 0, -1, -1, 0) >= 0 or failed("perf_event_open"); escaped("perf")',
    ),
    { mayBeUnavailable: "the kernel may have no counters", onCodex: "escapes" },
  ],
  [
    "handles faults of pages",
    "claim",
    perl('sys("userfaultfd", 1) >= 0 or failed("userfaultfd"); escaped("userfaultfd")'),
    { mayBeUnavailable: "the kernel may not have it", onCodex: "escapes" },
  ],
  [
    "reads the log of the kernel",
    "claim",
    perl('my $b = "\\0" x 4096; sys("syslog", 3, $b, 4096) >= 0 or failed("syslog"); escaped("syslog")'),
  ],
  [
    "loads a module",
    "claim",
    // An image that is none: the kernel looks at it only if the caller may load modules.
    perl(
      'my ($m, $o) = ("\\0" x 64, ""); my $r = sys("init_module", $m, 64, $o); ($r == 0 || $!{ENOEXEC}) ? escaped("init_module") : failed("init_module")',
    ),
    { mayBeUnavailable: "the kernel may have no modules" },
  ],
  [
    "loads another kernel",
    "claim",
    perl('sys("kexec_load", 0, 0, 0, 0) == 0 or failed("kexec_load"); escaped("kexec")'),
    { mayBeUnavailable: "the kernel may not load others" },
  ],
  [
    "uses a swap file",
    "claim",
    // The file is none, which the kernel says only to those who may.
    perl(
      'spew("$work/swap", "\\0" x 65536); my $p = "$work/swap"; my $r = sys("swapon", $p, 0); $!{EINVAL} ? escaped("swapon") : failed("swapon")',
    ),
    { mayBeUnavailable: "the kernel may have no swap" },
  ],
  [
    "records what all processes do",
    "claim",
    perl(
      'my $p = "$work/acct"; spew($p, ""); my $r = sys("acct", $p); $r == 0 or failed("acct"); sys("acct", 0); escaped("acct")',
    ),
    { mayBeUnavailable: "the kernel may keep no such records" },
  ],
]);

const TIOCSTI = 0x5412;
const inject = (request: string): string => String.raw`
  system("stty", "-icanon", "-echo", "min", "1", "time", "5") == 0 or failed("stty");
  for my $c (split //, "!") { my $r = sys("ioctl", 0, ${request}, $c); $r == 0 or failed("ioctl") }
  sysread(STDIN, my $b, 1); defined $b && $b eq "!" ? escaped("injected") : failed("read")`;

const terminals = attemptsOf("terminals", [
  [
    "types into its terminal",
    "claim",
    perl(inject(String(TIOCSTI))),
    { tty: true, mayBeUnavailable: "the kernel may refuse it to all" },
  ],
  [
    "types into its terminal with a request that is longer than the kernel reads",
    "claim",
    perl(inject(`${TIOCSTI} | (1 << 32)`)),
    { tty: true, mayBeUnavailable: "the kernel may refuse it to all" },
  ],
  [
    "pastes into the console",
    "claim",
    perl('my $a = chr(3); sys("ioctl", 0, 0x541c, $a) >= 0 or failed("ioctl"); escaped("TIOCLINUX")'),
    { tty: true, mayBeUnavailable: "a terminal that is no console cannot paste" },
  ],
  [
    "takes the console of the machine",
    "claim",
    perl(
      'sysopen(my $c, "/dev/console", O_WRONLY | O_NOCTTY) or failed("open"); sys("ioctl", fileno($c), 0x541d, 0) == 0 or failed("ioctl"); escaped("TIOCCONS")',
    ),
    { mayBeUnavailable: "a container may have no console" },
  ],
]);

/** See `leaveDescriptorsOpen`: the parent of these has left descriptors open. */
const descriptors = attemptsOf("inherited descriptors", [
  ["reads from a descriptor that its parent has left open", "secret", sh("cat /proc/self/fd/107")],
  [
    "reads from a descriptor by its number",
    "secret",
    perl('open(my $f, "<&=", 107) or failed("open"); seek($f, 0, 0); print <$f>'),
  ],
  [
    "leaves through the descriptor of a directory",
    "secret",
    perl('chdir("/proc/self/fd/108") or failed("chdir"); print slurp("secrets/file")'),
  ],
  [
    "opens a file below the descriptor of a directory",
    "secret",
    perl(
      'my $p = "secrets/file"; my $fd = sys("openat", 108, $p, 0); $fd >= 0 or failed("openat"); print slurp("/proc/self/fd/$fd")',
    ),
  ],
]);

const environment = attemptsOf("environment", [
  [
    "has what starts it write a trace outside",
    "change",
    sh("true"),
    { env: { LD_DEBUG: "files", LD_DEBUG_OUTPUT: "$OUTSIDE/trace" }, onCodex: "escapes" },
  ],
  [
    "leaves a bwrap for the next process to be started by",
    "change",
    [
      sh(
        "mkdir $WORK/bin && printf '#!/bin/sh\\necho escaped >> %s\\n' $OUTSIDE/canary > $WORK/bin/bwrap && chmod +x $WORK/bin/bwrap",
      ),
      { argv: ["bwrap", "--version"] },
    ],
    { env: { PATH: "$WORK/bin:$PATH" } },
  ],
]);

const entryPoints = attemptsOf("other entry points", [
  [
    "opens a network socket by a 32-bit system call",
    "claim",
    sh('$PROGRAMS/socket-32 && echo "ESC""APED"'),
    { mayBeUnavailable: "only x64 with 32-bit programs has these" },
  ],
  [
    "opens a network socket by an x32 system call",
    "claim",
    sh('$PROGRAMS/socket-x32 && echo "ESC""APED"'),
    { mayBeUnavailable: "only x64 with x32 programs has these" },
  ],
  [
    "traces by a 32-bit system call",
    "claim",
    sh('$PROGRAMS/ptrace-32 && echo "ESC""APED"'),
    { mayBeUnavailable: "only x64 with 32-bit programs has these" },
  ],
]);

export const kernelAttempts: readonly Attempt[] = [
  ...interfaces,
  ...terminals,
  ...descriptors,
  ...environment,
  ...entryPoints,
];
