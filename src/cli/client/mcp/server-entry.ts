import { resolve } from "node:path";
import { shownUrl } from "../../../base/shown-url.ts";
import { usageFailure } from "../../shared/failure.ts";
import { resolveTarget } from "../target/resolve-target.ts";
import { namedSecrets } from "../running/secret-flags.ts";
import { checkFlags, isThisMachine, type McpFlags, rootsOf } from "./mcp-flags.ts";

/** How a client starts `exec-server mcp`. */
export interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
  /** Names of variables that it needs from its user: secrets are not written into files. */
  readonly variables: readonly string[];
}

const TOKEN = "EXEC_SERVER_TOKEN";

/**
 * The entry for these options. Paths are absolute, because a client may start programs anywhere, and with a short PATH.
 * `project` is the directory that a client of this machine works on, if that is known.
 */
export async function serverEntry(flags: McpFlags, project: string | undefined): Promise<ServerEntry> {
  checkFlags(flags);
  const { EXEC_SERVER_URL, EXEC_SERVER_HOST, EXEC_SERVER_TOKEN } = process.env;
  const target = await resolveTarget(flags);
  const isLocal = isThisMachine(target);
  const url = flags.url ?? (flags.host === undefined ? EXEC_SERVER_URL || undefined : undefined);
  const host = flags.host ?? (url === undefined ? EXEC_SERVER_HOST || undefined : undefined);
  if (url !== undefined && shownUrl(url) !== url)
    throw usageFailure(
      "the URL contains a secret, which would be written into the file; name the host in hosts.toml",
    );
  const named = rootsOf(flags, isLocal);
  const roots = named.length === 0 && isLocal && project !== undefined ? [project] : named;
  const { readOnly, network, sandbox, tools, ask, env = [], secret = [] } = flags;
  const options: readonly (readonly [name: string, value: string | undefined])[] = [
    ["--host", host],
    ["--url", url],
    ...(["ca", "cert", "key"] as const).map((name) => [`--${name}`, absolute(flags[name])] as const),
    ["--token-file", absolute(flags.tokenFile)],
    ...roots.map((root) => ["--root", root] as const),
    ["--sandbox", sandbox],
    ["--tools", tools?.join(",")],
    ["--ask", ask?.join(",")],
    ...env.map((variable) => ["--env", variable] as const),
    ...secret.map((named) => ["--secret", named] as const),
  ];
  const needsToken =
    url !== undefined && url !== "stdio" && flags.tokenFile === undefined && EXEC_SERVER_TOKEN;
  return {
    command: process.execPath,
    args: [
      // A link to it leads to a newer version later.
      resolve(process.argv[1] ?? ""),
      "mcp",
      ...options.flatMap(([name, value]) => (value === undefined ? [] : [name, value])),
      ...(readOnly === true ? ["--read-only"] : []),
      ...(network === true ? ["--network"] : []),
    ],
    variables: [
      ...(needsToken ? [TOKEN] : []),
      ...env.filter((variable) => !variable.includes("=")),
      ...(target.kind === "own" ? namedSecrets(secret).map(({ name }) => name) : []),
    ],
  };
}

const absolute = (path: string | undefined): string | undefined =>
  path === undefined ? undefined : resolve(path);
