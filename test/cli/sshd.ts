import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtCli } from "../fault/server-under-test.ts";
import { freePort } from "../fixtures/free-port.ts";

const SSHD = "/usr/sbin/sshd";

/** A real sshd on loopback, and an `ssh` that knows it as `machine`. */
export interface SshMachine extends AsyncDisposable {
  readonly port: number;
  /** Comes first in PATH, and has `ssh`. */
  readonly bin: string;
  /** What the machine has in its PATH: `exec-server`. */
  readonly remoteBin: string;
}

/**
 * Starts it in a directory, which it fills with keys. What it runs has this environment. With `login`, the path of a
 * program, it runs that instead of what it is asked for, which is in SSH_ORIGINAL_COMMAND.
 */
export async function startSshd(
  directory: string,
  env: Readonly<Record<string, string>>,
  { login }: { readonly login?: string } = {},
): Promise<SshMachine> {
  if (!existsSync(SSHD)) throw new Error(`${SSHD} is missing: install openssh-server`);
  const at = (name: string): string => join(directory, name);
  const [bin, remoteBin] = [at("bin"), at("remote-bin")];
  for (const path of [directory, bin, remoteBin]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const script = (path: string, text: string): void =>
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  script(join(bin, "ssh"), `exec /usr/bin/ssh -F ${at("config")} "$@"`);
  script(join(remoteBin, "exec-server"), `exec ${process.execPath} ${builtCli} "$@"`);
  for (const key of ["host-key", "user-key"])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(key)]);
  const variables = Object.entries({ PATH: `${remoteBin}:/usr/bin:/bin`, ...env });
  const publicKey = execFileSync("ssh-keygen", ["-y", "-f", at("user-key")], { encoding: "utf8" });
  writeFileSync(
    at("authorized"),
    `${[
      ...variables.map(([name, value]) => `environment="${name}=${value}"`),
      ...(login === undefined ? [] : [`command="${login}"`]),
    ].join()} ${publicKey}`,
  );
  const port = await freePort();
  writeFileSync(
    at("sshd"),
    [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${at("host-key")}`,
      `AuthorizedKeysFile ${at("authorized")}`,
      "PidFile none",
      "StrictModes no",
      "UsePAM no",
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "PermitRootLogin yes",
      "PermitUserEnvironment yes",
      "Subsystem sftp internal-sftp",
    ].join("\n"),
  );
  writeFileSync(
    at("config"),
    [
      "Host machine",
      "HostName 127.0.0.1",
      `Port ${port}`,
      "Host *",
      `IdentityFile ${at("user-key")}`,
      "IdentitiesOnly yes",
      "BatchMode yes",
      `UserKnownHostsFile ${at("known")}`,
      "StrictHostKeyChecking accept-new",
      "LogLevel ERROR",
    ].join("\n"),
  );
  // It insists on this directory.
  mkdirSync("/run/sshd", { recursive: true });
  const sshd = spawn(SSHD, ["-D", "-e", "-f", at("sshd")], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  for await (const bytes of sshd.stderr.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    said += String(bytes);
    if (said.includes("Server listening")) break;
  }
  if (!said.includes("Server listening")) throw new Error(`sshd did not start: ${said}`);
  sshd.stderr.resume();
  return {
    port,
    bin,
    remoteBin,
    [Symbol.asyncDispose]: async () => {
      sshd.kill("SIGKILL");
      if (sshd.exitCode === null && sshd.signalCode === null) await once(sshd, "exit");
    },
  };
}
