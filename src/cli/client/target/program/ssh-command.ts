import { usageFailure } from "../../outcome/failure.ts";

/** A machine's name or alias, or an IPv6 address in brackets, with or without a port. */
const NAME_AND_PORT = /^([A-Za-z0-9_][\w.-]*)(?::(\d{1,5}))?$/;
const ADDRESS_AND_PORT = /^\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\](?::(\d{1,5}))?$/;
const USER = /^[^-@:/?#\s][^@:/?#\s]*$/;
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
  const destination = destinationOf(url);
  if (destination === undefined)
    throw usageFailure(`'${url}' is not an address for ssh; write ssh://[USER@]MACHINE[:PORT]`);
  const { user, machine, port } = destination;
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

/** Undefined for a text that is none, or that ssh could take for an option. */
function destinationOf(url: string): { user?: string; machine: string; port?: string } | undefined {
  if (!url.startsWith("ssh://")) return undefined;
  const rest = url.slice("ssh://".length);
  const authority = rest.endsWith("/") ? rest.slice(0, -1) : rest;
  const at = authority.indexOf("@");
  const user = authority.slice(0, Math.max(at, 0));
  const place = authority.slice(at + 1);
  const [, machine, port] = NAME_AND_PORT.exec(place) ?? ADDRESS_AND_PORT.exec(place) ?? [];
  if (machine === undefined || Number(port ?? 0) > MAX_PORT || (at >= 0 && !USER.test(user)))
    return undefined;
  return { machine, ...(at < 0 ? {} : { user }), ...(port === undefined ? {} : { port }) };
}
