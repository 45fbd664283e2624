#!/bin/bash
# Stands for systemctl where no systemd runs: starts the program of a unit as its user, with its drop-ins.
set -eu
unit() { cat "/etc/systemd/system/$1.service" "/etc/systemd/system/$1.service.d/"*.conf 2> /dev/null; }
# The last value counts, and an empty one forgets those before it.
value() { unit "$1" | sed -n "s/^$2=//p" | tail -n 1; }

start() {
  local command user state home
  command=$(value "$1" ExecStart)
  user=$(value "$1" User)
  state=$(value "$1" StateDirectory)
  home=${state:+/var/lib/$state}
  mkdir -p /run/units /var/log/units ${home:+"$home"}
  [ -z "$user" ] || [ -z "$home" ] || chown "$user:" "$home"
  # As systemd does with a program that has no path.
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
  read -ra words <<< "$command"
  command -v "${words[0]}" > /dev/null || { echo "$1: Failed to locate executable ${words[0]}" >&2; exit 1; }
  cd "${home:=/}"
  setsid ${user:+runuser -u "$user" --} env HOME="$home" "${words[@]}" > "/var/log/units/$1" 2>&1 < /dev/null &
  echo $! > "/run/units/$1"
  sleep 1
  kill -0 $! 2> /dev/null || { echo "$1: failed:" >&2; cat "/var/log/units/$1" >&2; exit 1; }
}

stop() {
  local pid
  pid=$(cat "/run/units/$1" 2> /dev/null) || return 0
  kill -- "-$pid" 2> /dev/null || return 0
  while kill -0 -- "-$pid" 2> /dev/null; do sleep 0.05; done
}

action=$1
name=${!#}
case $action in
  daemon-reload) ;;
  enable | start) start "$name" ;;
  restart) stop "$name"; start "$name" ;;
  stop) stop "$name" ;;
  status) echo "$name: $(cat "/var/log/units/$name")" ;;
  *) echo "systemctl $action is not known here" >&2; exit 1 ;;
esac
