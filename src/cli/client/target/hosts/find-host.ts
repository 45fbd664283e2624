import { Failure, usageFailure } from "../../../shared/failure.ts";
import { defined } from "../../../shared/defined.ts";
import { complain } from "../../print/complain.ts";
import type { Target } from "../target.ts";
import type { HostEntry } from "./host-entry.ts";
import { readHosts, secretsWarning } from "./hosts-file.ts";

const MAX_SHOWN_NAMES = 20;

/** The host of that name in hosts.toml. */
export function findHost(name: string): Target {
  const { path, hosts, fleets, isExposed, faults } = readHosts();
  const fault = faults.find(({ id }) => id === name);
  if (fault !== undefined) throw new Failure(fault.message);
  const entry = hosts.find(({ id }) => id === name);
  if (entry !== undefined && isExposed) complain(secretsWarning(path));
  if (entry !== undefined) return targetOf(entry);
  if (fleets.has(name))
    throw usageFailure(
      `'${name}' is a fleet: name one of its executors, as in '${name}/NAME'; 'exec-server fleet ls ${name}' lists them`,
    );
  const others =
    faults.length === 0 ? "" : `; some entries of ${path} cannot be used: see 'exec-server host list'`;
  throw usageFailure(`there is no host '${name}'; ${knownNames(hosts)}${others}`);
}

/** For messages about an unknown name. */
export function knownNames(hosts: readonly HostEntry[]): string {
  if (hosts.length === 0) return "no host is configured yet: see 'exec-server host add --help'";
  const more = hosts.length > MAX_SHOWN_NAMES ? ", …" : "";
  const names = hosts.slice(0, MAX_SHOWN_NAMES).map(({ id }) => id);
  return `known hosts: ${names.join(", ")}${more}`;
}

function targetOf(entry: HostEntry): Target {
  const { id: name, url, program = "", args = [], env, cwd, ca, cert, key } = entry;
  const initializeTimeoutMs = milliseconds(entry.initialize_timeout_sec);
  if (url === undefined)
    return defined({ kind: "program", name, command: [program, ...args], cwd, env, initializeTimeoutMs });
  const connectTimeoutMs = milliseconds(entry.connect_timeout_sec);
  const { auth_bearer_token: token } = entry;
  return defined({ kind: "url", name, url, token, ca, cert, key, connectTimeoutMs, initializeTimeoutMs });
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
