import { usageFailure } from "../../failure.ts";

/** User, machine and port in `ssh://[USER@]MACHINE[:PORT]`. An IPv6 address is in brackets. */
const DESTINATION =
  /^ssh:\/\/(?:([^@:/?#\s]+)@)?(?:\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([\w.-]+))(?::(\d{1,5}))?\/?$/;
const MAX_PORT = 65_535;

/** What the machine runs; the shell there gets it as one text. */
const SERVE_ON_STDIO = "--listen stdio";

/** No terminal there; a silent network is noticed within a minute. */
const OPTIONS = ["-T", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"] as const;

/** True for a text that is meant as such an address. */
export function isSshUrl(text: string): boolean {
  return /^ssh:/i.test(text);
}

/**
 * The command that serves on stdio on another machine, through the user's own ssh, which may ask for a password on the
 * terminal. Throws a Failure for an address that ssh could take for an option.
 */
export function sshCommand(url: string, environment: NodeJS.ProcessEnv = process.env): [string, ...string[]] {
  const [, user, address, name, port] = DESTINATION.exec(url) ?? [];
  const machine = address ?? name;
  if (machine === undefined || machine.startsWith("-") || user?.startsWith("-") || Number(port) > MAX_PORT)
    throw usageFailure(`'${url}' is not an address for ssh; write ssh://[USER@]MACHINE[:PORT]`);
  const program = environment["EXEC_SERVER_REMOTE_COMMAND"] || "exec-server";
  return [
    "ssh",
    ...OPTIONS,
    ...(user === undefined ? [] : ["-l", user]),
    ...(port === undefined ? [] : ["-p", port]),
    "--",
    machine,
    `${program} ${SERVE_ON_STDIO}`,
  ];
}
