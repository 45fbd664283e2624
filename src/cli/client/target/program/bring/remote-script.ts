/** What the remote shell is told. */
export interface ScriptSettings {
  /** Part of each of its lines to this program, so that nothing else that is printed there looks like one. */
  readonly nonce: string;
  /** Directory name of the bundle. */
  readonly name: string;
  /** Files of the bundle. A directory that lacks one is not used. */
  readonly files: readonly string[];
  /** Space that the bundle needs there. */
  readonly kilobytes: number;
  /** Directory names of the single executables that could be brought instead, by what `uname -m` says. */
  readonly executables: ReadonlyMap<string, string>;
  /** Arguments of exec-server. */
  readonly args: string;
}

/** Space for a single executable, and for what it unpacks. */
const EXECUTABLE_KILOBYTES = 184_320;

/** Precedes the nonce in each line of the script. In the script itself it never does, so its echo is not an answer. */
export const MARK = "exec-server:";

/**
 * Command for the login shell of another machine, which may be any: POSIX, fish or csh. It hands the script to /bin/sh
 * as an argument, not on stdin, where shells read ahead.
 */
export function remoteCommand(settings: ScriptSettings): string {
  return `exec /bin/sh -c '${remoteScript(settings)}'`;
}

/**
 * One line for dash, busybox and other POSIX shells, without single quotes. It starts exec-server if it is installed or
 * has been brought before; otherwise it says what the machine has, and waits for an answer. Its variables begin with an
 * underscore, because a variable of the same name in the environment would reach the server.
 */
function remoteScript({ nonce, name, files, kilobytes, executables, args }: ScriptSettings): string {
  const cases = [...executables].map(([machine, directory]) => `${machine}) _b=${directory};;`);
  return `
_k=${nonce}; _w=${name}; _need=${kilobytes}; _um=$(umask); _u=$(id -u);
_say() { printf "%s\\n" "${MARK}$_k $*"; };

${CHECKS}

_start() {
  _s=$1/exec-server;
  if [ -L "$_s" ] || [ ! -x "$_s" ]; then
    for _f in ${files.join(" ")} node; do
      if [ -L "$1/$_f" ] || [ ! -s "$1/$_f" ]; then return 1; fi;
    done;
    read -r _n < "$1/node" || return 1;
    [ -x "$_n" ] || return 1;
    _s=;
  fi;
  { printf "" > "$1/used"; } 2>/dev/null;
  umask "$_um";
  _say ready "$1";
  if [ -n "$_s" ]; then exec "$_s" ${args}; fi;
  exec "$_n" "$1/cli.js" ${args};
};

_kept() {
  [ -d "$1/$2/$_w" ] || return 1;
  _c=$(cd -P "$1" && pwd -P) && _safe "$_c" && _mine "$_c/$2" && _mine "$_c/$2/$_w" && _start "$_c/$2/$_w";
};

${PROBE}

${RECEIVE_FILE}

_say shell;
if command -v exec-server >/dev/null 2>&1; then _say installed; exec exec-server ${args}; fi;
_each _kept;
_b=;
${cases.length === 0 ? "" : `case $(uname -m) in ${cases.join(" ")} esac; if [ -n "$_b" ]; then _bundle=$_w; _w=$_b; _each _kept; _w=$_bundle; fi;`}

umask 077;
_say machine "$(uname -s) $(uname -m) $(_libc)";
_node;
if [ -z "$_n" ] && [ -n "$_b" ]; then _need=${EXECUTABLE_KILOBYTES}; fi;
if command -v gzip >/dev/null 2>&1; then _say gzip; fi;
_each _try || { _say nowhere; exit 1; };
trap _clean EXIT;
trap "exit 1" HUP INT TERM;
_say need;
read -r _r || exit 1;
set -f; set -- $_r; set +f;
case $1 in
  node) "$_n" -e "eval(atob(process.argv[1]))" "$2" "$_d" "$_t" || exit 1;;
  file) _w=$_b; _file "$@" || exit 1;;
  *) exit 1;;
esac;
_clean;
_start "$_d/$_w";
_say failed "$_d/$_w: is incomplete or belongs to someone else";
exit 1`
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}

/** Takes one file from stdin: its arguments are the bytes to read, the length and hash of the file, and `gzip` or `plain`. */
const RECEIVE_FILE = `
_fail() { _say failed "$_d: $*"; return 1; };
_file() {
  _f=$_t/exec-server;
  _say send;
  if [ "$5" = gzip ]; then head -c "$2" | gzip -dc > "$_f"; else head -c "$2" > "$_f"; fi 2>/dev/null;
  _l=$(set -- $(ls -ln -- "$_f" 2>/dev/null); echo "$5");
  [ "$_l" = "$3" ] || _fail "only \${_l:-0} of $3 bytes could be written; is the disk full?" || return 1;
  if command -v sha256sum >/dev/null 2>&1; then
    _l=$(sha256sum < "$_f");
    [ "\${_l%% *}" = "$4" ] || _fail "the file was damaged on its way" || return 1;
  fi;
  chmod 700 "$_f";
  _l=$("$_f" --version 2>&1 >/dev/null </dev/null) || _fail "the file does not run there: $_l" || return 1;
  mkdir "$_d/$_w" 2>/dev/null;
  _mine "$_d/$_w" && mv -f "$_f" "$_d/$_w/exec-server" || _fail "$_w cannot be used";
};`;

/**
 * Nothing is run from a directory that someone else could have filled. `_safe`: only its owner, this user or root, can
 * replace what is in it. `_mine`: only this user can use it. `_each` tries the places where exec-server is kept.
 */
const CHECKS = `
_of() { set -f; set -- $(ls -ldn -- "$1" 2>/dev/null); set +f; _m=\${1:-none}; _o=\${3:-none}; };
_safe() {
  _of "$1";
  case $_m in
    d????-??-?*|d????????[tT]*) [ "$_o" = "$_u" ] || [ "$_o" = 0 ];;
    *) false;;
  esac;
};
_mine() { _of "$1"; case $_m in drwx--[-S]---*) [ "$_o" = "$_u" ];; *) false;; esac; };
_home() {
  _x=$HOME/.cache;
  case \${XDG_CACHE_HOME:-} in /*) _x=$XDG_CACHE_HOME;; esac;
  _h=$(cd -P "$HOME" 2>/dev/null && pwd -P) && _safe "$_h" && "$1" "$_x" exec-server;
};
_each() { _home "$1" || "$1" /var/tmp "exec-server-cache-$_u" || "$1" /tmp "exec-server-cache-$_u"; };`;

/** Finds Node, and a directory where this user can write and execute. */
const PROBE = `
_libc() {
  getconf GNU_LIBC_VERSION 2>/dev/null && return;
  for _f in /lib/ld-musl-*; do if [ -e "$_f" ]; then echo musl; return; fi; done;
  echo unknown libc;
};
_node() {
  for _n in node nodejs /usr/local/bin/node /opt/node/bin/node "$HOME"/.local/bin/node "$HOME"/.nvm/versions/node/*/bin/node; do
    _n=$(command -v "$_n" 2>/dev/null) || continue;
    case $_n in /*) ;; *) continue;; esac;
    _v=$("$_n" -p process.versions.node </dev/null 2>/dev/null) || continue;
    _say node "$_v $_n";
    case $_v in 20.19.*|20.[2-9]?.*|2[1-9].*|[3-9]?.*) return;; esac;
  done;
  _n=;
};
_clean() { rm -rf "$_t"; };
_no() { _say no "$_r: $*"; return 1; };
_try() {
  _r=$1/$2;
  [ -d "$1" ] || mkdir -p "$1" 2>/dev/null || _no "cannot be created" || return 1;
  _c=$(cd -P "$1" 2>/dev/null && pwd -P) || _no "cannot be entered" || return 1;
  _r=$_c/$2;
  _safe "$_c" || _no "others can write to $_c" || return 1;
  mkdir "$_r" 2>/dev/null;
  _of "$_r";
  [ "$_m" != none ] || _no "cannot be created" || return 1;
  _mine "$_r" || _no "is a link, is open to others or belongs to someone else" || return 1;
  _t=$_r/new-$_k;
  { mkdir "$_t" && printf "exit 0" > "$_t/try" && chmod 700 "$_t/try"; } 2>/dev/null ||
    { _clean; _no "cannot be written"; } || return 1;
  "$_t/try" 2>/dev/null || { _clean; _no "is mounted noexec"; } || return 1;
  rm -f "$_t/try";
  _free=$(df -Pk "$_r" 2>/dev/null | { read -r _f; read -r _f _f _f _f _g; printf "%s" "$_f"; });
  if [ "\${_free:-$_need}" -lt "$_need" ] 2>/dev/null; then _clean; _no "has only $_free KiB of the $_need KiB that are needed"; return 1; fi;
  _d=$_r;
  _say dir "$_r";
};`;
