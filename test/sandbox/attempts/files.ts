import { type Attempt, attemptsOf, perl, sh } from "../attempt.ts";

const paths = attemptsOf("paths", [
  ["writes outside by an absolute path", "change", sh("echo escaped >> $OUTSIDE/canary")],
  ["creates a file outside", "change", sh("echo escaped > $OUTSIDE/new")],
  ["deletes a file outside", "change", sh("rm -f $OUTSIDE/canary")],
  ["moves a file outside to another name", "change", sh("mv $OUTSIDE/canary $OUTSIDE/moved")],
  ["moves a file from outside into its own directory", "change", sh("mv $OUTSIDE/canary $WORK/")],
  ["changes the mode of a file outside", "change", sh("chmod 777 $OUTSIDE/canary")],
  ["changes the times of a file outside", "change", sh("touch -d 2001-01-01 $OUTSIDE/canary")],
  [
    "sets an attribute on a file outside",
    "change",
    perl(
      'my ($p, $n, $v) = ("$outside/canary", "user.escaped", "escaped"); sys("setxattr", $p, $n, $v, 7, 0) and failed("setxattr")',
    ),
  ],
  ["writes outside through ..", "change", sh("cd $WORK && echo escaped >> ../outside/canary")],
  [
    "writes outside from a directory that it moves under its own feet",
    "change",
    sh(
      "mkdir -p $WORK/a/b/c && cd $WORK/a/b/c && mv $WORK/a/b/c $WORK/c && echo escaped >> ../../outside/canary",
    ),
  ],
  ["writes outside through /proc/self/root", "change", sh("echo escaped >> /proc/self/root$OUTSIDE/canary")],
  [
    "writes outside through /proc/self/cwd",
    "change",
    sh("cd $WORK && echo escaped >> /proc/self/cwd/../outside/canary"),
  ],
  [
    "writes outside with dots and slashes in the path",
    "change",
    sh("echo escaped >> /./$WORK//.././/outside/./canary"),
  ],
  [
    "writes outside through the descriptor of a directory",
    "change",
    sh("exec 9< $OUTSIDE && echo escaped >> /proc/self/fd/9/canary"),
  ],
  [
    "reopens for writing what it has opened for reading",
    "change",
    sh("exec 9< $OUTSIDE/canary && echo escaped >> /proc/self/fd/9"),
  ],
  ["reads a denied file", "secret", sh("cat $SECRET_FILE")],
  ["reads a file in a denied directory", "secret", sh("cat $SECRETS/file")],
  ["lists a denied directory", "secret", sh("ls -R $SECRETS")],
  ["reads a denied file through /proc/self/root", "secret", sh("cat /proc/self/root$SECRETS/file")],
  ["reads a denied file through ..", "secret", sh("cd $WORK && cat ../secrets/../secrets/file")],
  ["reads a file that a pattern denies", "secret", sh("cat $WORK/deep/er/token.hidden")],
  ["enters a denied directory", "secret", sh("cd $SECRETS && cat file")],
  ["writes into .git of its own directory", "change", sh("echo escaped >> $WORK/.git/config")],
  ["creates a hook in .git of its own directory", "change", sh("echo escaped > $WORK/.git/hook")],
  [
    "replaces .git of its own directory",
    "change",
    sh("mv $WORK/.git $WORK/old && mkdir $WORK/.git && echo x > $WORK/.git/config"),
  ],
  ["deletes .git of its own directory", "change", sh("rm -rf $WORK/.git")],
  [
    "creates .codex in its own directory",
    "change",
    sh("mkdir -p $WORK/.codex && echo escaped > $WORK/.codex/config"),
  ],
  ["creates .agents as a link", "change", sh("ln -s $WORK/deep $WORK/.agents")],
]);

const symbolicLinks = attemptsOf("symbolic links", [
  [
    "writes outside through a link to a file",
    "change",
    sh("ln -s $OUTSIDE/canary $WORK/l && echo escaped >> $WORK/l"),
  ],
  [
    "writes outside through a link to a directory",
    "change",
    sh("ln -s $OUTSIDE $WORK/l && echo escaped > $WORK/l/new"),
  ],
  ["reads a denied file through a link", "secret", sh("ln -s $SECRETS $WORK/l && cat $WORK/l/file")],
  [
    "reads a denied file through a link to /proc/self/root",
    "secret",
    sh("ln -s /proc/self/root $WORK/l && cat $WORK/l$SECRETS/file"),
  ],
  [
    "writes outside through a chain of links",
    "change",
    sh("ln -s ../outside $WORK/a && ln -s a $WORK/b && ln -s b/canary $WORK/c && echo escaped >> $WORK/c"),
  ],
  [
    "leaves a link for the next process whose policy names it",
    "change",
    [sh("rm -rf $WORK/sub && ln -s $OUTSIDE $WORK/sub"), sh("echo escaped >> $WORK/sub/canary")],
  ],
  [
    "exchanges a directory for a link while it writes",
    "change",
    perl(String.raw`
      mkdir "$work/d"; spew("$work/d/canary", ""); symlink($outside, "$work/l");
      my $pid = fork // failed("fork");
      if (!$pid) { alarm 60; for (;;) { my ($a, $b) = ("$work/d", "$work/l"); sys("renameat2", -100, $a, -100, $b, 2) } }
      my ($before, $end) = (-s "$outside/canary", time + $ENV{RACE_SECONDS});
      while (time <= $end && -s "$outside/canary" == $before) {
        if (open(my $f, ">>", "$work/d/canary")) { print $f "escaped\n" }
      }
      kill("KILL", $pid); waitpid($pid, 0)`),
  ],
]);

const hardLinks = attemptsOf("hard links", [
  [
    "writes outside through a hard link",
    "change",
    sh("ln $OUTSIDE/canary $WORK/l && echo escaped >> $WORK/l"),
  ],
  ["reads a denied file through a hard link", "secret", sh("ln $SECRETS/file $WORK/l && cat $WORK/l")],
  [
    "reads a file that a pattern denies through a hard link",
    "secret",
    sh("ln $WORK/deep/er/token.hidden $WORK/l && cat $WORK/l"),
  ],
  [
    "writes into .git through a hard link",
    "change",
    sh("ln $WORK/.git/config $WORK/l && echo escaped >> $WORK/l"),
  ],
  [
    "writes outside through a hard link to an open descriptor",
    "change",
    perl(String.raw`
      open(my $f, "<", "$outside/canary") or failed("open");
      my ($from, $to) = ("/proc/self/fd/" . fileno($f), "$work/l");
      sys("linkat", -100, $from, -100, $to, 0x400) and failed("linkat");
      spew($to)`),
  ],
]);

const renames = attemptsOf("renames", [
  [
    "moves the directory of a denied file aside, for the next process",
    "secret",
    [sh("mv $WORK/deep $WORK/elsewhere"), sh("cat $WORK/deep/secret $WORK/elsewhere/secret")],
    { onCodex: "escapes" },
  ],
  [
    "moves the directory of a file that a pattern denies aside, and reads it",
    "secret",
    [
      sh("mv $WORK/deep/er $WORK/elsewhere; cat $WORK/elsewhere/token.hidden"),
      sh("cat $WORK/elsewhere/token.hidden $WORK/elsewhere/*"),
    ],
  ],
  [
    "moves its own directory aside",
    "change",
    sh("mv $WORK $WORK-moved && mkdir -p $WORK/.git && echo x > $WORK/.git/config"),
  ],
  [
    "moves a directory of its own to the place of .codex",
    "change",
    sh("mkdir $WORK/t && touch $WORK/t/config && mv -T $WORK/t $WORK/.codex"),
  ],
  [
    "exchanges .git for a directory of its own",
    "change",
    perl(
      'mkdir "$work/t"; my ($a, $b) = ("$work/t", "$work/.git"); sys("renameat2", -100, $a, -100, $b, 2) and failed("exchange")',
    ),
  ],
  [
    "exchanges a denied directory for one of its own",
    "secret",
    perl(String.raw`
      mkdir "$work/t"; my ($a, $b) = ("$work/t", $secrets);
      sys("renameat2", -100, $a, -100, $b, 2) and failed("exchange");
      print slurp("$work/t/file")`),
  ],
]);

export const fileAttempts: readonly Attempt[] = [...paths, ...symbolicLinks, ...hardLinks, ...renames];
