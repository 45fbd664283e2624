import { isAbsolute } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { UrlPrefix } from "../../capabilities/network-proxy/secrets/url-prefix.ts";
import type { SecretOptions } from "../settings/secret-options.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const MAX_HOSTS = 32;
const SOURCES = ["env", "file", "command"];

/** What is wrong with a secret, and the key that it is in, as in a configuration file. */
export interface SecretFault {
  readonly key: keyof SecretOptions;
  readonly why: string;
}

/** Whatever wrote it: a file, or a program without types. */
export function secretFault(
  options: { readonly [Key in keyof SecretOptions]?: unknown },
): SecretFault | undefined {
  const { name, as = name, hosts, from, variable, path, command, header, prefix, local } = options;
  const faults: (SecretFault | undefined)[] = [
    fault(
      "name",
      isText(name, NAME),
      "must have letters, digits, `_`, `.` and `-`, and start with a letter or `_`",
    ),
    fault("as", isText(as, VARIABLE), "must be the name of a variable; without it, name is"),
    hostsFault(hosts),
    fault("from", SOURCES.includes(from as string), 'must be "env", "file" or "command"'),
    fault(
      "variable",
      variable === undefined || (from === "env" && isText(variable, VARIABLE)),
      'must be the name of a variable, with from = "env"',
    ),
    fault(
      "path",
      from === "file" ? isAbsolutePath(path) : path === undefined,
      'must be an absolute path, with from = "file"',
    ),
    fault(
      "command",
      from === "command" ? isCommand(command) : command === undefined,
      'must be a list of an absolute path and arguments, with from = "command"',
    ),
    fault("header", header === undefined || isText(header, HEADER), "must be the name of a header"),
    fault(
      "prefix",
      prefix === undefined || (header !== undefined && isText(prefix, /^[\x20-\x7e]*$/)),
      "must be text in front of the secret in header",
    ),
    fault("local", local === undefined || typeof local === "boolean", "must be true or false"),
  ];
  return faults.find((each) => each !== undefined);
}

function fault(key: keyof SecretOptions, isGood: boolean, why: string): SecretFault | undefined {
  return isGood ? undefined : { key, why };
}

function hostsFault(hosts: unknown): SecretFault | undefined {
  const isList = Array.isArray(hosts) && hosts.every((host) => typeof host === "string");
  if (!isList || hosts.length === 0 || hosts.length > MAX_HOSTS)
    return { key: "hosts", why: `must be a list of 1 to ${MAX_HOSTS} hosts to which it may be sent` };
  for (const host of hosts as readonly string[]) {
    try {
      void new UrlPrefix(host);
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      return { key: "hosts", why: `has '${host}': ${error.message}` };
    }
  }
  return undefined;
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === "string" && form.test(value);
}

function isAbsolutePath(value: unknown): value is string {
  return typeof value === "string" && isAbsolute(value) && !value.includes("\0");
}

function isCommand(value: unknown): boolean {
  const isList =
    Array.isArray(value) && value.every((part) => typeof part === "string" && !part.includes("\0"));
  return isList && isAbsolutePath(value[0]);
}
