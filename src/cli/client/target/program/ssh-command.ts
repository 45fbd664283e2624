import { usageFailure } from "../../../shared/failure.ts";

/** A machine's name or alias, or an IPv6 address in brackets, with or without a port. */
const NAME_AND_PORT = /^([A-Za-z0-9_][\w.-]*)(?::(\d{1,5}))?$/;
const ADDRESS_AND_PORT = /^\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\](?::(\d{1,5}))?$/;
const USER = /^[^-@:/?#\s][^@:/?#\s]*$/;
const MAX_PORT = 65_535;

/** Command for the remote shell, which gets it as one text. */
const SERVE_ON_STDIO = "--listen stdio";

/** No remote terminal; a silent network is noticed within a minute. */
const OPTIONS = ["-T", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"] as const;

/** True for a text that is meant as such an address. */
export function isSshUrl(text: string): boolean {
  return /^ssh:/i.test(text);
}

/**
 * The command that serves on stdio on another machine, through the user's own ssh, which may ask for a password on the
 * terminal. Throws a Failure for an address that ssh could mistake for an option.
 */
export function sshCommand(
  url: string,
  remoteCommand = process.env["EXEC_SERVER_REMOTE_COMMAND"] || "exec-server",
): [string, ...string[]] {
  const destination = destinationOf(url);
  if (destination === undefined)
    throw usageFailure(`'${url}' is not an address for ssh; write ssh://[USER@]MACHINE[:PORT]`);
  const { user, machine, port } = destination;
  return [
    "ssh",
    ...OPTIONS,
    ...(user === undefined ? [] : ["-l", user]),
    ...(port === undefined ? [] : ["-p", port]),
    "--",
    machine,
    `${remoteCommand} ${SERVE_ON_STDIO}`,
  ];
}

/** Arguments of such an ssh, with another path of exec-server on the machine. Undefined for any other command. */
export function withRemoteCommand(args: readonly string[], remoteCommand: string): string[] | undefined {
  if (args.at(-1)?.endsWith(` ${SERVE_ON_STDIO}`) !== true) return undefined;
  return [...args.slice(0, -1), `${remoteCommand} ${SERVE_ON_STDIO}`];
}

/** Undefined for invalid text, or text that ssh could mistake for an option. */
function destinationOf(url: string) {
  if (!url.startsWith("ssh://")) return undefined;
  const rest = url.slice("ssh://".length);
  const authority = rest.endsWith("/") ? rest.slice(0, -1) : rest;
  const at = authority.indexOf("@");
  const user = at < 0 ? undefined : authority.slice(0, at);
  const address = authority.slice(at + 1);
  const [, machine, port] = NAME_AND_PORT.exec(address) ?? ADDRESS_AND_PORT.exec(address) ?? [];
  if (machine === undefined || Number(port ?? 0) > MAX_PORT) return undefined;
  return user === undefined || USER.test(user) ? { machine, user, port } : undefined;
}
