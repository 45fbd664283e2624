import { pathToFileURL } from "node:url";
import { type RawPeer, RpcFailure } from "../conformance/raw-peer.ts";
import type { Attempt, CallStep } from "./attempt.ts";

/** Long for a busy machine; an attempt that hangs has not succeeded. */
export const STEP_DEADLINE_MS = 120_000;

export interface StepEnd {
  readonly output: string;
  readonly succeeded: boolean;
}

/** Calls a method on files. Contents of a file are part of the output as they are. */
export async function callFiles(
  peer: RawPeer,
  { method, paths, params }: CallStep,
  { env, sandbox }: { env: Readonly<Record<string, string>>; sandbox: object },
): Promise<StepEnd> {
  const uris = Object.entries(expanded(paths, env)).map(([name, path]) => [name, pathToFileURL(path).href]);
  try {
    const request = { ...Object.fromEntries(uris), ...params, ...sandbox };
    const result = await peer.request(method, request, { timeoutMs: STEP_DEADLINE_MS });
    const text = Buffer.from(String(result.dataBase64 ?? ""), "base64").toString();
    return { output: `${JSON.stringify(result)} ${text}\n`, succeeded: true };
  } catch (error) {
    // A call that is not understood proves nothing.
    if (!(error instanceof RpcFailure) || error.code === -32601 || error.code === -32602) throw error;
    return { output: `no: ${method}: ${error.message}\n`, succeeded: false };
  }
}

/** What a start needs for a process that has a proxy. */
export function networkOf({ proxy }: Attempt): object {
  if (proxy === undefined) return {};
  return {
    enforceManagedNetwork: true,
    networkProxy: {
      proxy: {
        enabled: true,
        enableSocks5: true,
        enableSocks5Udp: false,
        allowUpstreamProxy: false,
        dangerouslyAllowAllUnixSockets: false,
        mode: "full",
        ...proxy,
      },
    },
  };
}

/** Opens the secret and its directory for the program that it becomes. */
export const LEAK = String.raw`use POSIX (); my $p = shift; open(my $f, "<", "$p/file") or die; POSIX::dup2(fileno($f), 107);
  my $d = POSIX::open("$p/..", 0); POSIX::dup2($d, 108); exec { $ARGV[0] } @ARGV or die`;

export function expanded(
  env: Attempt["env"],
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env ?? {}).map(([name, value]) => [
      name,
      value.replace(/\$(\w+)/g, (_, variable: string) => variables[variable] ?? ""),
    ]),
  );
}
