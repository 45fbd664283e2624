import { Failure, usageFailure } from "../../outcome/failure.ts";
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

/** For messages about a name that is not known. */
export function knownNames(hosts: readonly HostEntry[]): string {
  if (hosts.length === 0) return "no host is known yet: see 'exec-server host add --help'";
  const more = hosts.length > MAX_SHOWN_NAMES ? ", …" : "";
  const names = hosts.slice(0, MAX_SHOWN_NAMES).map(({ id }) => id);
  return `known hosts: ${names.join(", ")}${more}`;
}

function targetOf(entry: HostEntry): Target {
  const { id: name, url, program = "", args = [], env, cwd } = entry;
  const timeout = entry.initialize_timeout_sec;
  const initialize = timeout === undefined ? {} : { initializeTimeoutMs: timeout * 1000 };
  if (url === undefined)
    return {
      kind: "program",
      name,
      command: [program, ...args],
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...initialize,
    };
  const { auth_bearer_token: token, connect_timeout_sec: connect, ca, cert, key } = entry;
  return {
    kind: "url",
    name,
    url,
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(connect === undefined ? {} : { connectTimeoutMs: connect * 1000 }),
    ...initialize,
  };
}
