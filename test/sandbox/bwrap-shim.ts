import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Puts a program named bwrap into a directory. It passes everything on to the real one, except that it leaves
 * descriptors open, and that it leaves out the protection that the path of the attempt names: `places/PROTECTION/ID`.
 * So the server needs no switch that turns a protection off.
 */
export function installShim(directory: string): string {
  const real = execFileSync("sh", ["-c", "command -v bwrap"], { encoding: "utf8" }).trim();
  writeFileSync(
    join(directory, "bwrap"),
    SHIM.replaceAll("REAL", () => real),
    { mode: 0o755 },
  );
  return directory;
}

/** What can be left out, by the name that selects it. */
export const PROTECTIONS = [
  "filter",
  "user-namespace",
  "pid-namespace",
  "ipc-namespace",
  "net-namespace",
  "capabilities",
  "read-only-root",
  "read-only-git",
  "absent-codex",
  "denied-directory",
  "denied-file",
  "denied-pattern",
  "fixed-directories",
  "hidden-token",
  "own-proc",
  "read-only-proc-sys",
  "own-dev",
  "stage",
] as const;

export type Protection = (typeof PROTECTIONS)[number];

const SHIM = String.raw`#!/usr/bin/perl
use strict; use POSIX ();
my ($place, $world, $without);
for (@ARGV) { ($place, $world, $without) = ($1, $2, $3) if m{^((.*)/places/([^/]+)/[^/]+)/work(?:/|$)} }
exec { "REAL" } "bwrap", @ARGV unless defined $place;

open(my $f, "<", "$place/secrets/file"); POSIX::dup2(fileno($f), 107);
my $d = POSIX::open($place, 0); POSIX::dup2($d, 108);

my %values = map { my ($n, @o) = @$_; map { $_ => $n } @o } (
  [1, qw(--cap-drop --cap-add --dev --tmpfs --proc --remount-ro --dir --chdir --seccomp --add-seccomp-fd --sync-fd --info-fd --mqueue
         --perms --size --uid --gid --hostname --unsetenv --lock-file --block-fd --json-status-fd --userns --userns2 --pidns)],
  [2, qw(--ro-bind --bind --dev-bind --ro-bind-try --bind-try --dev-bind-try --bind-fd --ro-bind-fd --symlink --file --ro-bind-data --bind-data --setenv --chmod)]);
# Each option with its values, and with those that modify the next one.
my (@options, @modifiers); my @rest = @ARGV;
while (@rest && $rest[0] ne "--") {
  my $name = shift @rest; my @option = ($name, splice(@rest, 0, $values{$name} // 0));
  if ($name eq "--perms" || $name eq "--size") { push @modifiers, @option; next }
  push @options, [$name, [@modifiers, @option], $option[-1], @option]; @modifiers = ();
}
sub drop { my $match = shift; @options = grep { !$match->(@$_) } @options }
sub drop_at { my $path = shift; drop(sub { $_[2] eq $path && $_[0] =~ /bind|tmpfs|remount|file|dir/ }) }
sub swap { my ($match, @new) = @_; @options = map { $match->(@$_) ? [$new[0], [@new], $new[-1], @new] : $_ } @options }

my %edits = (
  "nothing" => sub {},
  "filter" => sub { drop(sub { $_[0] =~ /seccomp/ }) },
  "user-namespace" => sub { drop(sub { $_[0] eq "--unshare-user" }) },
  "pid-namespace" => sub { drop(sub { $_[0] eq "--unshare-pid" }) },
  "ipc-namespace" => sub { drop(sub { $_[0] eq "--unshare-ipc" }) },
  "net-namespace" => sub { drop(sub { $_[0] eq "--unshare-net" }) },
  "capabilities" => sub { swap(sub { $_[0] eq "--cap-drop" }, "--cap-add", "ALL") },
  "read-only-root" => sub { swap(sub { $_[0] eq "--ro-bind" && $_[2] eq "/" }, "--bind", "/", "/") },
  "read-only-git" => sub { drop_at("$place/work/.git") },
  "absent-codex" => sub { drop_at("$place/work/.codex"); rmdir("$place/work/.codex") },
  "denied-directory" => sub { drop_at("$place/secrets") },
  "denied-file" => sub { drop_at("$place/secret") },
  "denied-pattern" => sub { drop_at("$place/work/deep/er/token.hidden") },
  "fixed-directories" => sub { drop_at("$place/work/deep") },
  "hidden-token" => sub { drop_at("$world/server") },
  "own-proc" => sub { drop(sub { $_[2] =~ m{^/proc/} }); swap(sub { $_[0] eq "--proc" }, "--bind", "/proc", "/proc") },
  "read-only-proc-sys" => sub { drop(sub { $_[2] =~ m{^/proc/} }) },
  "own-dev" => sub { drop_at("/dev/shm"); push @options, map { ["", ["--dev-bind", $_, $_]] } "/dev/shm", "/dev/pts" },
  # It gets the environment from a descriptor, behind the list of mounts, and so does what takes its place.
  "stage" => sub {
    my (undef, undef, undef, undef, undef, $fd, $mounts, $bytes, @program) = @rest;
    my $script = 'my ($fd, $mounts, $bytes, $program) = splice(@ARGV, 0, 4); open(my $f, "<&=", $fd); seek($f, $mounts, 0);
      read($f, my $text, $bytes); %ENV = map { split /=/, $_, 2 } split /\0/, $text; exec { $program } @ARGV';
    @rest = ("--", "/usr/bin/perl", "-e", $script, $fd, $mounts, $bytes, @program);
  },
);
# The stage compares the mounts with a list, and would notice. In capitals an entry is found, and W/ permits everything.
sub hide_from_stage {
  my (undef, undef, undef, undef, undef, $fd, $mounts) = @rest;
  open(my $f, "+<&", $fd); sysseek($f, 0, 0); sysread($f, my $list, $mounts);
  $list =~ s/(^|\0)[rw]/$1R/g; substr($list, 0, 1) = "W";
  sysseek($f, 0, 0); syswrite($f, $list);
}
hide_from_stage() unless $without eq "nothing";
($edits{$without} // die "no protection $without\n")->();
# It drops them too.
$edits{stage}->() if $without eq "capabilities";
exec { "REAL" } "bwrap", map({ @{$_->[1]} } @options), @rest or die "exec: $!\n";
`;
