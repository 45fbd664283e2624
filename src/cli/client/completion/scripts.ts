/** Shells with a completion script. */
export type ShellName = keyof typeof SCRIPTS;

const BASH = String.raw`# Completion of exec-server for bash. In ~/.bashrc: source <(exec-server completion bash)
_exec_server() {
  local line word current prefix rest
  local -a words
  # The words as they are typed: bash has cut them at each colon and equals sign.
  IFS=$' \t\n' read -r -a words <<< "${"$"}{COMP_LINE:0:COMP_POINT}"
  if [[ "${"$"}{COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]]; then words+=(""); fi
  current="${"$"}{words[${"$"}{#words[@]}-1]}"
  # What bash regards as done already is not repeated: it cuts words after a colon or an equals sign, and before an @.
  rest="${"$"}{current##*[:=]}"
  if [[ "$rest" == *@* ]]; then rest="@${"$"}{rest##*@}"; fi
  prefix="${"$"}{current%"$rest"}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ "$line" == :files ]]; then
      compopt -o default 2>/dev/null
      continue
    fi
    word="${"$"}{line%%$'\t'*}"
    if [[ "$word" == *[:=/] ]]; then compopt -o nospace 2>/dev/null; fi
    COMPREPLY+=("${"$"}{word#"$prefix"}")
  done < <("$1" complete -- "${"$"}{words[@]:1}" 2>/dev/null)
}
complete -F _exec_server exec-server
`;

const ZSH = String.raw`#compdef exec-server
# Completion of exec-server for zsh. In ~/.zshrc, after compinit: source <(exec-server completion zsh)
_exec_server() {
  local line word
  local -a lines described plain open
  local files=0
  lines=("${"$"}{(@f)$("${"$"}{words[1]}" complete -- "${"$"}{(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${"$"}{lines[@]}"; do
    if [[ -z "$line" ]]; then continue; fi
    if [[ "$line" == :files ]]; then files=1; continue; fi
    word="${"$"}{line%%$'\t'*}"
    if [[ "$word" == *[:/] ]]; then
      open+=("$word")
    elif [[ "$line" == *$'\t' ]]; then
      plain+=("$word")
    else
      described+=("${"$"}{word//:/\\:}:${"$"}{line#*$'\t'}")
    fi
  done
  if (( ${"$"}{#described} )); then _describe -V -t exec-server 'exec-server' described; fi
  if (( ${"$"}{#plain} )); then compadd -- "${"$"}{plain[@]}"; fi
  if (( ${"$"}{#open} )); then compadd -S '' -- "${"$"}{open[@]}"; fi
  if (( files )); then _files; fi
}
if [[ "${"$"}{funcstack[1]}" == _exec_server ]]; then
  _exec_server "$@"
else
  compdef _exec_server exec-server
fi
`;

const FISH = String.raw`# Completion of exec-server for fish: exec-server completion fish > ~/.config/fish/completions/exec-server.fish
function __exec_server_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (exec-server complete -- $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            printf '%s\n' $line
        end
    end
end
complete -c exec-server -e
complete -c exec-server -f -a '(__exec_server_complete)'
`;

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
