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
