import { type Attempt, attemptsOf, perl, sh } from "../attempt.ts";

const proc = attemptsOf("/proc", [
  [
    "reads a denied file through the root of a process outside",
    "secret",
    sh("cat /proc/$VICTIM/root$SECRETS/file"),
  ],
  [
    "reads a denied file through the directory of a process outside",
    "secret",
    sh("cat /proc/$VICTIM/cwd/file"),
  ],
  ["reads a denied file through the descriptor of a process outside", "secret", sh("cat /proc/$VICTIM/fd/9")],
  ["reads the environment of a process outside", "secret", sh("tr '\\0' '\\n' < /proc/$VICTIM/environ")],
  ["reads the command line of a process outside", "secret", sh("tr '\\0' '\\n' < /proc/$VICTIM/cmdline")],
  [
    "reads the memory of a process outside",
    "secret",
    perl(String.raw`
      sysopen(my $m, "/proc/$ENV{VICTIM}/mem", O_RDONLY) or failed("open");
      sysseek($m, $ENV{VICTIM_ADDRESS}, 0); sysread($m, my $text, 64) or failed("read"); print $text`),
  ],
  [
    "reads a denied file through any process that it can see",
    "secret",
    sh("for p in /proc/[0-9]*; do cat $p/root$SECRETS/file 2>/dev/null && exit; done; exit 1"),
  ],
  [
    "sets the program that the kernel runs for core dumps",
    "claim",
    perl('my $p = "/proc/sys/kernel/core_pattern"; spew($p, slurp($p)); escaped("core_pattern")'),
    { onCodex: "escapes" },
  ],
  [
    "sets the name of the machine in /proc/sys",
    "claim",
    perl('my $p = "/proc/sys/kernel/hostname"; spew($p, slurp($p)); escaped("hostname")'),
    { onCodex: "escapes" },
  ],
  [
    "sets how the machine uses memory in /proc/sys",
    "claim",
    perl('my $p = "/proc/sys/vm/swappiness"; spew($p, slurp($p)); escaped("swappiness")'),
    { onCodex: "escapes" },
  ],
  [
    "can send commands to the kernel's debugger",
    "claim",
    perl('sysopen(my $f, "/proc/sysrq-trigger", O_WRONLY) or failed("open"); escaped("sysrq")'),
    { mayBeUnavailable: "the kernel may have no SysRq" },
  ],
  ["reads the names of sockets outside", "secret", sh("cat /proc/net/unix")],
  [
    "reads the log of the kernel in /proc",
    "claim",
    perl('sysopen(my $f, "/proc/kmsg", O_RDONLY | O_NONBLOCK) or failed("open"); escaped("kmsg")'),
  ],
  [
    "changes how the kernel treats a process outside",
    "claim",
    perl('my $p = "/proc/$ENV{VICTIM}/oom_score_adj"; spew($p, slurp($p)); escaped("oom_score_adj")'),
  ],
]);

const sys = attemptsOf("/sys", [
  [
    "sets a parameter of the kernel in /sys",
    "claim",
    perl(String.raw`
      my $p = "/sys/kernel/mm/transparent_hugepage/defrag"; slurp($p) =~ /\[(\w+)\]/ or failed("parse");
      spew($p, $1); escaped("defrag")`),
    { mayBeUnavailable: "the kernel may have no huge pages, or /sys may be read-only" },
  ],
  [
    "sets the program that the kernel runs for events of devices",
    "claim",
    perl('my $p = "/sys/kernel/uevent_helper"; spew($p, slurp($p)); escaped("uevent_helper")'),
    { mayBeUnavailable: "the kernel may have no uevent helper" },
  ],
  [
    "creates a control group",
    "claim",
    perl(String.raw`
      for my $d ("/sys/fs/cgroup", glob("/sys/fs/cgroup/*")) {
        next unless -d $d && -e "$d/cgroup.procs" && mkdir "$d/$id"; rmdir "$d/$id"; escaped($d);
      }
      failed("mkdir")`),
    { mayBeUnavailable: "/sys/fs/cgroup may be read-only" },
  ],
]);

const devices = attemptsOf("devices", [
  [
    "reads the disk below the file systems",
    "claim",
    perl(String.raw`
      for (split /\n/, slurp("/proc/partitions")) {
        next unless /\s(\w+)$/ && sysopen(my $f, "/dev/$1", O_RDONLY); sysread($f, my $b, 512) == 512 and escaped($1);
      }
      failed("open")`),
    { mayBeUnavailable: "a container may have no disk" },
  ],
  [
    "creates a device node for the disk, and reads it",
    "claim",
    perl(String.raw`
      for (split /\n/, slurp("/proc/partitions")) {
        next unless /^\s*(\d+)\s+(\d+)\s+\d+\s+\w+$/;
        system("mknod", "$work/disk", "b", $1, $2) == 0 or next;
        sysopen(my $f, "$work/disk", O_RDONLY) or next; sysread($f, my $b, 512) == 512 and escaped("$1:$2");
      }
      failed("mknod")`),
    { mayBeUnavailable: "a container may have no disk" },
  ],
  ["reads shared memory of others in /dev/shm", "secret", sh("cat $DEV_SHM_FILE")],
  ["leaves a file in /dev/shm", "change", sh("echo escaped > $DEV_SHM_FILE")],
  ["writes to the terminal of another process", "message", sh("echo $ID > $VICTIM_TTY")],
  [
    "reads the log of the kernel in /dev",
    "claim",
    perl('sysopen(my $f, "/dev/kmsg", O_RDONLY | O_NONBLOCK) or failed("open"); escaped("kmsg")'),
    { mayBeUnavailable: "a container may have no /dev/kmsg" },
  ],
  [
    "opens the memory of the machine",
    "claim",
    perl(
      'for (qw(/dev/mem /dev/port /proc/kcore)) { sysopen(my $f, $_, O_RDONLY) and escaped($_) } failed("open")',
    ),
    { mayBeUnavailable: "the kernel may show it to no one" },
  ],
  [
    "opens devices that create network interfaces and file systems",
    "claim",
    perl(
      'for (qw(/dev/net/tun /dev/fuse /dev/kvm /dev/loop-control)) { sysopen(my $f, $_, O_RDWR) and escaped($_) } failed("open")',
    ),
    { mayBeUnavailable: "a container may have none of them" },
  ],
]);

const mounts = attemptsOf("mounts", [
  [
    "binds a directory outside into its own and writes there",
    "change",
    sh("mkdir $WORK/m && mount --bind $OUTSIDE $WORK/m && echo escaped >> $WORK/m/canary; umount $WORK/m"),
  ],
  ["makes the root writable", "change", sh("mount -o remount,bind,rw / && echo escaped >> $OUTSIDE/canary")],
  [
    "removes what is mounted over a denied directory",
    "secret",
    sh("umount -l $SECRETS 2>&1; cat $SECRETS/file"),
  ],
  [
    "mounts a file system of its own",
    "claim",
    sh('mkdir $WORK/m && mount -t tmpfs none $WORK/m && umount $WORK/m && echo "ESC""APED"'),
  ],
  [
    "mounts /proc again",
    "secret",
    sh(
      "mkdir $WORK/m && mount -t proc none $WORK/m && tr '\\0' '\\n' < $WORK/m/$VICTIM/cmdline; umount $WORK/m",
    ),
  ],
  [
    "mounts in a user namespace of its own",
    "claim",
    sh('mkdir $WORK/m && unshare -U -r -m sh -c "mount -t tmpfs none $WORK/m && echo ESC""APED"'),
  ],
  [
    "clones a mount with open_tree",
    "claim",
    perl('my $p = "/"; sys("open_tree", -100, $p, 1) >= 0 or failed("open_tree"); escaped("open_tree")'),
  ],
  [
    "makes a mount writable with mount_setattr",
    "claim",
    perl(
      'my $p = "/"; my $a = pack("QQQQ", 0, 1, 0, 0); sys("mount_setattr", -100, $p, 0, $a, 32) == 0 or failed("mount_setattr"); escaped("mount_setattr")',
    ),
  ],
  [
    "creates a file system with fsopen and fsmount",
    "claim",
    perl(String.raw`
      my $t = "tmpfs"; my $fs = sys("fsopen", $t, 0); $fs >= 0 or failed("fsopen");
      sys("fsconfig", $fs, 6, 0, 0, 0) == 0 or failed("fsconfig");
      sys("fsmount", $fs, 0, 0) >= 0 or failed("fsmount"); escaped("fsmount")`),
  ],
  [
    "changes its root",
    "claim",
    perl('my $p = $outside; sys("chroot", $p) == 0 or failed("chroot"); escaped("chroot")'),
  ],
  [
    "opens a denied file by its handle",
    "secret",
    perl(String.raw`
      my $handle = pack("H*", $ENV{SECRET_HANDLE}); open(my $m, "<", $work) or failed("open");
      my $fd = sys("open_by_handle_at", fileno($m), $handle, 0); $fd >= 0 or failed("open_by_handle_at");
      print slurp("/proc/self/fd/$fd")`),
    { mayBeUnavailable: "the file system may have no handles" },
  ],
]);

export const systemAttempts: readonly Attempt[] = [...proc, ...sys, ...devices, ...mounts];
