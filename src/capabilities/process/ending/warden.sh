#!/bin/sh
# Waits for the end of its input, which means the end of the server, and then kills what the table on descriptor 3 lists:
#   p PGID          a process group on pipes
#   t PGID          a process group on a terminal
#   ? LINK [TIME]   a child that was being started and is known only by what its stdout links to. A terminal disappears
#                   with the server and its name may be reused, so its creation time, in seconds, must match too.
#   c DIRECTORY     a control group with contained processes in groups below it

trap '' HUP INT QUIT TERM PIPE
read -r _
starting='' groups='' contained=''
# Leaders are signalled first, as the kernel would do it: with SIGTERM, or SIGHUP on a terminal.
while read -r kind value created; do
  case $kind in
    p) groups="$groups $value"; kill -s TERM "$value" ;;
    t) groups="$groups $value" ;;
    '?') starting="$starting $value|$created" ;;
    c) contained="$value${created:+ $created}" ;;
  esac
done <&3 2>/dev/null
sleep 0.5
for pgid in $groups; do kill -s KILL -- "-$pgid"; done 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ -d "$contained" ] || break
  echo 1 > "$contained/cgroup.kill" ||
    find "$contained" -name cgroup.procs -exec cat {} + | while read -r pid; do kill -s KILL "$pid"; done
  find "$contained" -depth -type d -exec rmdir {} + || sleep 0.1
done 2>/dev/null
[ -n "$starting" ] || exit 0
# A child that was being started may not have its stdout at the first look.
for _ in 1 2; do
  for process in /proc/[0-9]*; do
    stdout=$(readlink "$process/fd/1") || continue
    case $stdout in
      *' (deleted)') stdout="${stdout% (deleted)}|$(stat -L -c %Z "$process/fd/1")" ;;
      *) stdout="$stdout|" ;;
    esac
    case "$starting " in *" $stdout "*) ;; *) continue ;; esac
    pid=${process#/proc/}
    kill -s KILL -- "-$pid" "$pid"
  done 2>/dev/null
  sleep 0.1
done
