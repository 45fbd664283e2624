export const doctorHelp = (): string => `Try the sandbox on this machine, and say what is missing

Usage: exec-server doctor [--json]

A program inside a sandbox attempts what it must not be able to do: write and read files, connect
to a server, see other processes. Whatever fails is printed with its remedy: a package, a setting
of the kernel, or an AppArmor profile. Run it as the user that runs the server, with its PATH.

Options:
      --json     Print one JSON object: version, ok, machine, checks
  -h, --help     Print help

Exit status: 0 if the sandbox works, 1 if it does not, 2 for an invalid command line.

Examples:
  exec-server doctor
  exec-server doctor --json | jq '.checks[] | select(.ok | not)'
`;

export const sandboxHelp = (): string => `Print what a sandbox allows on this machine

Usage: exec-server sandbox explain [--cwd <DIR>] [OPTIONS]

Patterns are searched and links are followed, as for a process that starts now. What a server hides
in every sandbox, such as its tokens, is not known here.

Options:
      --cwd <DIR>        Working directory of the process [default: the current directory]
      --sandbox <NAME>   A client's sandbox by name: read-only or workspace-write
      --context <FILE>   A client's sandbox as JSON: a context of the protocol, or the library's object
      --config <PATH>    A server's configuration file, whose sandbox the client's narrows
      --json             Print one JSON object: cwd, sandbox, network, everythingElse, paths, patterns
  -h, --help             Print help

Exit status: 0, 1 if the sandbox cannot be had, 2 for an invalid command line.

Examples:
  exec-server sandbox explain --cwd /srv/work --sandbox workspace-write
  exec-server sandbox explain --config server.toml --sandbox read-only --json
`;
