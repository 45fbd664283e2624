import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAuthority } from "../fixtures/certificates.ts";
import { pollUntil } from "../fault/deadline.ts";
import { type Ended, type RunningCommand, startCommand } from "./command.ts";

const DEADLINE_MS = 60_000;
const FINGERPRINT = /SHA256:[A-Za-z0-9+/]{43}/;

let home: string;
let relay: string;
const running: RunningCommand[] = [];

beforeEach(async () => {
  home = await mkdtemp("/var/tmp/exec-server-relay-cli-");
});

afterEach(async () => {
  for (const { child } of running) child.kill("SIGKILL");
  await Promise.all(running.splice(0).map((command) => command.ended()));
  await rm(home, { recursive: true, force: true });
});

const at = (name: string): string => join(home, name);
const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex");

function start(args: readonly string[], input?: string): RunningCommand {
  const command = startCommand(args, {
    env: { HOME: home },
    cwd: home,
    ...(input === undefined ? {} : { input }),
  });
  running.push(command);
  return command;
}

const run = (...args: string[]): Promise<Ended> => start(args, "").ended();

async function startRelay(...args: string[]): Promise<RunningCommand> {
  const command = start(["relay", ...args]);
  await command.shows("\n");
  relay = command.stdout.trim();
  return command;
}

/** Registers with the token, and resolves when clients can come. Returns the fingerprint of its key. */
async function startExecutor(
  id: string,
  token: string,
  ...args: string[]
): Promise<{ command: RunningCommand; key: string }> {
  const command = start(
    ["--remote", relay, "--environment-id", id, "--registration-bearer-stdin", ...args],
    `${token}\n`,
  );
  await command.complains("Key: ");
  const [key] = FINGERPRINT.exec(command.stderr)!;
  return { command, key };
}

const urlOf = (id: string, key = ""): string => `relay+${relay}/${id}${key}`;

describe("a relay for this machine", () => {
  beforeEach(() => startRelay());

  it("prints its address, and connects clients with executors", async () => {
    expect(relay).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const { key } = await startExecutor("build", "any");
    expect(await run("run", "--url", urlOf("build", `#${key}`), "--", "echo", "there")).toMatchObject({
      status: 0,
      stdout: "there\n",
    });
    const listed = await run("relay", "ls", "--relay", relay);
    expect(listed.stdout).toBe(
      `ENVIRONMENT  STATE   CLIENTS  TOKEN   KEY\nbuild        online  0        anyone  ${key}\n`,
    );
  });

  it("a key that nobody has accepted is refused without a terminal", async () => {
    const { key } = await startExecutor("build", "any");
    const { status, stderr } = await run("run", "--url", urlOf("build"), "--", "true");
    expect(status).toBe(255);
    expect(stderr).toContain(`has a key that is not known yet: ${key}`);
    expect(await run("run", "--url", urlOf("build", "#any"), "--", "true")).toMatchObject({ status: 0 });
  });

  it.each([
    ["Ctrl-C", "\u0003", 130],
    ["Ctrl-D", "\u0004", 255],
  ])("%s at the question whether a key is right ends with one line", async (_what, key, status) => {
    await startExecutor("build", "any");
    const command = startCommand(["run", "--url", urlOf("build"), "--", "true"], {
      env: { HOME: home, TERM: "xterm", SHELL: "/bin/sh" },
      cwd: home,
      through: ["sh", "-c", 'exec script -qec "$*" /dev/null', "sh"],
    });
    running.push(command);
    await command.shows("[y/N]");
    command.child.stdin!.write(key);
    const ended = await command.ended();
    expect(ended.status).toBe(status);
    expect(ended.stdout).toMatch(/\[y\/N\][^\n]*\nexec-server: the key was not confirmed\r\n$/);
  });

  it("another key than the pinned one is refused", async () => {
    await startExecutor("build", "any");
    const other = `SHA256:${"A".repeat(43)}`;
    const { status, stderr } = await run("run", "--url", urlOf("build", `#${other}`), "--", "true");
    expect(status).toBe(255);
    expect(stderr).toMatch(
      /^exec-server: the relay names an executor 'build' with the key SHA256:.*, not SHA256:A+\n$/,
    );
  });

  it("an identity lasts, and belongs to its owner alone", async () => {
    const first = await startExecutor("build", "any", "--identity", "id.key");
    first.command.child.kill("SIGTERM");
    await first.command.ended();
    expect((await stat(at("id.key"))).mode & 0o777).toBe(0o600);
    const { key } = await startExecutor("build", "any", "--identity", "id.key");
    expect(key).toBe(first.key);
    expect((await run("relay", "fingerprint", "--identity", at("id.key"))).stdout).toBe(`${key}\n`);
    await chmod(at("id.key"), 0o644);
    expect(await run("relay", "fingerprint", "--identity", at("id.key"))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("others can read the key") as string,
    });
  });

  it("an executor admits only the clients in its file, which is read for each", async () => {
    await writeFile(at("clients"), "# nobody yet\n");
    await startExecutor("build", "any", "--authorized-clients", "clients");
    const refused = await run("run", "--url", urlOf("build", "#any"), "--", "true");
    expect(refused.status).toBe(255);
    expect(refused.stderr).toContain("Noise relay stream reset");
    const { stdout } = await run("relay", "fingerprint");
    await writeFile(at("clients"), `${stdout.trim()} ann's laptop\n`);
    // The relay lets a token whose handshake was refused wait.
    await pollUntil(
      async () => (await run("run", "--url", urlOf("build", "#any"), "--", "true")).status === 0,
      DEADLINE_MS,
      () => "a client that is admitted",
    );
  });

  it("an executor that is not there is named", async () => {
    const { status, stderr } = await run("run", "--url", urlOf("nobody", "#any"), "--", "true");
    expect({ status, stderr }).toEqual({
      status: 255,
      stderr: "exec-server: the executor 'nobody' is offline\n",
    });
  });
});

describe("a relay without tokens", () => {
  it("serves no other user of this machine", async () => {
    await startRelay();
    const script = `fetch("${relay}/environments").then((answer) => answer.text()).then(console.log)`;
    const said = (uid: number): string =>
      execFileSync(process.execPath, ["-e", script], { uid, env: {}, encoding: "utf8" });
    expect(said(65_534)).toContain(
      "only the user who runs this server may connect: start the relay with --tokens",
    );
    expect(said(process.getuid!())).toBe("[]\n");
  });
});

describe("a relay with tokens", () => {
  const entry = (name: string, may: string, environments: string): string =>
    `[[token]]\nname = "${name}"\nsha256 = "${sha256(name)}"\nmay = ["${may}"]\nenvironments = ["${environments}"]\n`;

  beforeEach(async () => {
    await writeFile(
      at("tokens.toml"),
      `${entry("machines", "register", "build-*")}${entry("ann", "connect", "build-1")}`,
    );
    await startRelay("--tokens", "tokens.toml");
    await writeFile(at("ann"), "ann");
  });

  it("lets each token do what it may, with the environments that it may", async () => {
    const { key } = await startExecutor("build-1", "machines");
    expect(
      await run("run", "--url", urlOf("build-1", `#${key}`), "--token-file", at("ann"), "--", "true"),
    ).toMatchObject({ status: 0 });
    const other = await run(
      "run",
      "--url",
      urlOf("build-2", "#any"),
      "--token-file",
      at("ann"),
      "--",
      "true",
    );
    expect(other.stderr).toContain("the token 'ann' may not connect to 'build-2'");
    for (const [id, token, why] of [
      ["build-1", "ann", "refused the token (403)"],
      ["other", "machines", "refused the token (403)"],
      ["build-1", "unknown", "refused the token (401)"],
    ] as const) {
      const command = start(
        ["--remote", relay, "--environment-id", id, "--registration-bearer-stdin"],
        `${token}\n`,
      );
      const { status, stderr } = await command.ended();
      expect(status).toBe(1);
      expect(stderr).toContain(why);
    }
    expect((await run("relay", "ls", "--relay", relay, "--token-file", at("ann"))).stdout).toContain(
      "build-1",
    );
    expect(await run("relay", "ls", "--relay", relay)).toMatchObject({ status: 1 });
  });

  it("ends what a token has opened when its lines are removed", async () => {
    const { command } = await startExecutor("build-1", "machines");
    await writeFile(at("tokens.toml"), entry("ann", "connect", "build-1"));
    expect(await command.ended()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("refused the token (401)") as string,
    });
  });

  it("makes credentials for one executor", async () => {
    const made = await run(
      "relay",
      "credential",
      "--tokens",
      at("tokens.toml"),
      "--environment-id",
      "other",
      "--expires",
      "1h",
    );
    expect(JSON.parse(made.stdout)).toEqual({
      version: 1,
      environment_id: "other",
      token: expect.any(String) as string,
      expires_at: expect.any(Number) as number,
    });
    expect(await readFile(at("tokens.toml"), "utf8")).toContain('environments = ["other"]');
    // The relay reads its table twice a second.
    await pollUntil(
      async () => {
        const command = start(
          ["--remote", relay, "--environment-id", "other", "--executor-credential-stdin"],
          undefined,
        );
        command.child.stdin?.write(made.stdout);
        const isIn = (): boolean => command.stdout.includes("relay:other");
        await pollUntil(
          () => isIn() || command.child.exitCode !== null,
          DEADLINE_MS,
          () => "an answer of the relay",
        );
        command.child.kill("SIGKILL");
        return isIn();
      },
      DEADLINE_MS,
      () => "an executor with the credential",
    );
  });
});

it("a relay records what it does in an audit log, and admits no client while it cannot", async () => {
  const records = async (): Promise<Record<string, unknown>[]> =>
    (await readFile(at("audit/log"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  await mkdir(at("audit"));
  const command = await startRelay("--audit", at("audit/log"));
  const { key } = await startExecutor("build", "any");
  await run("run", "--url", urlOf("build", `#${key}`), "--", "true");
  await run("run", "--url", urlOf("nobody", "#any"), "--connect-timeout", "1s", "--", "true");
  command.child.kill("SIGTERM");
  await command.ended();
  expect(await run("audit", "verify", at("audit/log"))).toMatchObject({ status: 0 });
  const lines = await records();
  expect(lines.map(({ event }) => event).filter((event) => event !== "refused")).toEqual([
    "opened",
    "register",
    "online",
    "connect",
    "validate",
    "stream",
    "disconnect",
    "drain",
    "offline",
    "stopped",
  ]);
  const client = (await run("relay", "fingerprint")).stdout.trim();
  expect(lines[1]).toMatchObject({ environment: "build", token: "anyone", key });
  for (const at of [3, 5, 6])
    expect(lines[at]).toMatchObject({ environment: "build", client: 1, token: "anyone", key: client });
  expect(lines[4]).toMatchObject({ environment: "build", client: 1, valid: true });
});

it("the fingerprint of a file that does not exist is an error, and creates none", async () => {
  const { status, stderr } = await run("relay", "fingerprint", "--identity", at("typo.key"));
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `Error: --identity: cannot read ${at("typo.key")}: No such file or directory (os error 2)\n`,
  });
  await expect(stat(at("typo.key"))).rejects.toThrow("ENOENT");
});

it("a relay speaks TLS, and hands out nothing else", async () => {
  using authority = createAuthority();
  const { cert, key } = authority.issue("relay");
  await startRelay("--listen", "https://127.0.0.1:0", "--tls-cert", cert, "--tls-key", key);
  expect(relay).toMatch(/^https:/);
  expect((await run("relay", "ls", "--relay", relay, "--ca", authority.ca)).stdout).toBe(
    "No executor is registered.\n",
  );
  expect((await run("relay", "ls", "--relay", relay)).stderr).toContain("certificate");
  const withVariable = startCommand(["relay", "ls", "--relay", relay], {
    env: { HOME: home, EXEC_SERVER_CA: authority.ca },
    input: "",
  });
  expect(await withVariable.ended()).toMatchObject({ status: 0 });
});

it.each(["[null]", '[{"environmentId":5}]', "{}", "rubbish"])(
  "a list %s from something else than a relay is one line",
  async (body) => {
    const server = createServer((_request, response) => void response.end(body)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    expect(await run("relay", "ls", "--relay", `http://127.0.0.1:${port}`)).toMatchObject({
      status: 1,
      stderr: `Error: http://127.0.0.1:${port} is not an exec-server relay\n`,
    });
    server.close();
  },
);

it("a list of thousands of environments is printed", async () => {
  const entry = { isOnline: true, streams: 0, token: "machines", key: `SHA256:${"A".repeat(43)}` };
  const list = Array.from({ length: 12_000 }, (_, at) => ({ environmentId: `build-${at}`, ...entry }));
  const server = createServer((_request, response) => void response.end(JSON.stringify(list)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { status, stdout } = await run("relay", "ls", "--relay", `http://127.0.0.1:${port}`);
  expect([status, stdout.split("\n").length]).toEqual([0, list.length + 2]);
  server.close();
});

it("a token is not sent over http:// beyond this machine", async () => {
  await writeFile(at("token"), "secret");
  const list = await run("relay", "ls", "--relay", "http://relay.invalid:1", "--token-file", at("token"));
  expect(list.status).toBe(2);
  expect(list.stderr).toContain(
    "error: the token would be sent to relay.invalid:1 without encryption; use https://\n",
  );
});

it.each([
  [["--listen", "http://0.0.0.0:0"], "'--tokens <PATH>' is required beyond this machine"],
  [["--listen", "http://0.0.0.0:0", "--tokens", "t"], "'--listen https://…' is required beyond this machine"],
  [["--listen", "https://127.0.0.1:0"], "needs '--tls-cert <PATH>' and '--tls-key <PATH>'"],
  [["--tls-key", "k"], "needs '--listen https://IP:PORT'"],
  [["--listen", "ws://127.0.0.1:0"], "expected http://IP:PORT or https://IP:PORT"],
  [["--public-url", "http://relay.example"], "expected https://HOST"],
  [["--public-url", "https://relay.example"], "'--tokens <PATH>' is required beyond this machine"],
  [["--audit-failure", "refuse"], "needs '--audit <PATH>'"],
  [["nonsense"], "unexpected argument 'nonsense' found"],
  [["credential"], "'--tokens <PATH>' and '--environment-id <ID>' are required"],
  [["credential", "--tokens", "t", "--environment-id", "build-*"], "without blanks and '*'"],
  [["credential", "--tokens", "t", "--environment-id", "a b"], "without blanks and '*'"],
  [["credential", "--tokens", "t", "--environment-id", "e", "--expires", "9999999d"], "at most 36500d"],
  [["credential", "--tokens", "t", "--environment-id", "e", "--expires", "99999999d"], "at most 36500d"],
])("relay %j is refused", async (args, why) => {
  const { status, stderr } = await run("relay", ...args);
  expect(status).toBe(2);
  expect(stderr).toContain(why);
});
