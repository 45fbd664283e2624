import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { findOwnControlGroup } from "../../src/capabilities/process/ending/control-group-home.ts";
import { createServer as createExecServer, serve } from "../../src/server/index.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { mountTmpfs } from "../fault/mounted-tmpfs.ts";
import { builtCli, startServer } from "../fault/server-under-test.ts";
import { openSocket, openStdio } from "./raw-client.ts";

const GAMES = 5;
const NOBODY = 65_534;
const DEADLINE_MS = 60_000;
const CREDENTIAL_ENDED = 4011;
const SERVER_FAILED = 1011;
const TOKEN = "a-token-of-some-length";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "run-as-"));
  await chmod(directory, 0o755);
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function writeTable(rights: string): Promise<string> {
  const path = join(directory, "tokens.toml");
  const sha256 = createHash("sha256").update(TOKEN).digest("hex");
  await writeFile(path, `[[token]]\nname = "ann"\nsha256 = "${sha256}"\n${rights}\n`);
  return path;
}

/** Runs the program until it ends; what it says on stderr. */
async function complaint(args: readonly string[], user = 0): Promise<string> {
  const child = spawn(process.execPath, [builtCli, ...args], {
    uid: user,
    gid: user,
    env: {},
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  const code = await withDeadline(exited, DEADLINE_MS, () => "the end of the program").finally(() =>
    child.kill("SIGKILL"),
  );
  return `${code}: ${said}`;
}

/** Processes whose command line contains a text. */
function running(text: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

const gone = (text: string): Promise<unknown> =>
  pollUntil(
    () => running(text).length === 0,
    DEADLINE_MS,
    () => `the end of ${text}`,
  );

describe.runIf(process.getuid?.() === 0)("a server that runs things as another user", () => {
  it("does not start for a user that does not exist, or whom it cannot become", async () => {
    expect(await complaint(["--run-as", "no-such-user"])).toMatch(
      /^1: .*there is no user "no-such-user" on this machine/,
    );
    expect(await complaint(["--run-as", "4294967295"])).toContain("there is no user");
    expect(await complaint(["--run-as", "games"], NOBODY)).toMatch(
      /^1: .*cannot run anything as the user games: start it as root, with the capabilities CAP_SETUID and CAP_SETGID/,
    );
    expect(await complaint(["--run-as", "root"], NOBODY)).toContain("cannot run anything as the user root");
    const path = await writeTable('preset = "full"\nrun_as = "no-such-user"');
    await expect(serve({ authentication: { mode: "token-table", path } })).rejects.toThrow(
      `${path}:1: there is no user "no-such-user" on this machine`,
    );
  });

  it("needs no rights to run things as its own user", async () => {
    await using server = await startServer({
      user: NOBODY,
      args: ["--run-as", "nobody", "--allow-local-users"],
    });
    await using host = await connect(server.url);
    expect((await host.run(["id", "-un"])).stdout).toBe("nobody\n");
  });

  it("is enabled by the configuration for stdio, and ends with its client", async () => {
    const path = join(directory, "config.toml");
    await writeFile(path, 'run_as = "games"\n');
    await using client = await openStdio(["--config", path]);
    const made = join(directory, "made");
    await writeFile(made, "");
    await chown(made, GAMES, GAMES);
    const argv = ["sh", "-c", `id -u > ${made}`];
    await client.call("command/exec", { argv, cwd: "file:///", env: {}, tty: false });
    await pollUntil(
      async () => (await readFile(made, "utf8")) === "5\n",
      DEADLINE_MS,
      () => made,
    );
  });

  it("runs the processes of a client in its own program as that user", async () => {
    const server = createExecServer({ runAs: "games", environment: {} });
    try {
      await using host = await connect(server);
      expect((await host.run(["/usr/bin/id", "-u"])).stdout).toBe("5\n");
    } finally {
      await server.close();
    }
  });

  it.each([
    ["does not let its own processes in on loopback", false, undefined, "403"],
    ["lets them in, if local users may connect", true, undefined, "101"],
    ["but not from a sandbox", true, { network: true }, "403"],
  ])("%s", async (_, allowLocalUsers, sandbox, status) => {
    await using server = await serve({ runAs: "games", environment: {}, allowLocalUsers });
    await using host = await connect(server.url);
    const script = `exec 3<>/dev/tcp/127.0.0.1/${new URL(server.url).port}
printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n' >&3
head -1 <&3`;
    const options = { cwd: "/", ...(sandbox && { sandbox }) };
    expect((await host.run(["bash", "-c", script], options)).stdout).toContain(status);
  });

  it("connects to others as that user", async () => {
    const owners: number[] = [];
    const listener = createServer((socket) => {
      owners.push(ownerOf(socket.remotePort ?? 0));
      socket.on("error", () => {});
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = listener.address() as { port: number };
      await using server = await serve({ runAs: "games", environment: {} });
      await using host = await connect(server.url);
      expect((await host.fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
      await using raw = await openSocket(server.url);
      await raw.call("tcp/connect", { tcpId: "t", host: "127.0.0.1", port });
      await pollUntil(
        () => owners.length === 2,
        DEADLINE_MS,
        () => "two connections",
      );
      expect(owners).toEqual([GAMES, GAMES]);
    } finally {
      listener.close();
    }
  });

  it("is cordoned as a whole, by any of its clients", async () => {
    const table = join(directory, "tokens.toml");
    const entry = (name: string): string => {
      const sha256 = createHash("sha256").update(name).digest("hex");
      return `[[token]]\nname = "${name}"\nsha256 = "${sha256}"\npreset = "full"\nrun_as = "${name}"\n`;
    };
    await writeFile(table, ["games", "nobody", "root"].map(entry).join("\n"));
    await using server = await serve({ authentication: { mode: "token-table", path: table } });
    await using games = await connect(server.url, { token: "games" });
    await using nobody = await connect(server.url, { token: "nobody" });
    await using root = await connect(server.url, { token: "root" });
    const told = async (isCordoned: boolean): Promise<void> => {
      for (const host of [games, nobody, root])
        await pollUntil(
          async () => (await host.request("server/status", null)).cordoned === isCordoned,
          DEADLINE_MS,
          () => `${isCordoned}`,
        );
      expect(server.state().isCordoned).toBe(isCordoned);
    };
    await games.request("server/cordon", { cordoned: true });
    await told(true);
    await nobody.request("server/cordon", { cordoned: false });
    await told(false);
    await root.request("server/cordon", { cordoned: true });
    await told(true);
  });

  it("continues when the user kills that part of it, without leaving anything behind", async () => {
    await using server = await serve({ runAs: "games", environment: {} });
    await using raw = await openSocket(server.url);
    const mark = `left-${process.pid}`;
    const host = await connect(server.url);
    await host.start(["bash", "-c", `exec -a ${mark} sleep 300`], { keep: "job" });
    await pollUntil(
      () => running(mark).length > 0,
      DEADLINE_MS,
      () => "the process",
    );
    const killed = host.run(["sh", "-c", "kill -9 $PPID"], { check: false }).catch(() => {});
    expect(await withDeadline(raw.closed, DEADLINE_MS, () => "the end of the connection")).toBe(
      SERVER_FAILED,
    );
    await killed;
    await host.close();
    await gone(mark);
    await using again = await connect(server.url);
    expect((await again.run(["id", "-un"])).stdout).toBe("games\n");
  });

  it("takes everything with it when it is killed", async () => {
    const mark = `taken-${process.pid}`;
    const server = await startServer({ args: ["--run-as", "games"] });
    await using _ = server;
    const host = await connect(server.url, { recoveryTimeoutMs: 0 });
    await host.start(["bash", "-c", `exec -a ${mark} sleep 300`], { keep: "job" });
    await pollUntil(
      () => running(mark).length > 0,
      DEADLINE_MS,
      () => "the process",
    );
    const part = running("user-server.js").find((pid) => statOf(pid)?.parent === server.pid);
    const groups = (): string[] =>
      readdirSync(findOwnControlGroup()).filter((name) => name.includes(`-${server.pid}-`));
    expect(groups()).toHaveLength(1);
    await server.kill("SIGKILL");
    await gone(mark);
    await host.close();
    await pollUntil(
      () => statOf(part ?? 0) === undefined,
      DEADLINE_MS,
      () => "the end of that part",
    );
    await pollUntil(
      () => groups().length === 0,
      DEADLINE_MS,
      () => "the end of its control groups",
    );
  });

  it("ends the connections of a withdrawn token, even if the user has stopped that part of it", async () => {
    const path = await writeTable('preset = "full"\nrun_as = "games"');
    await using server = await serve({ environment: {}, authentication: { mode: "token-table", path } });
    await using raw = await openSocket(server.url, TOKEN);
    const script = "kill -STOP $PPID; sleep 300";
    // It may be stopped before it answers.
    const answered = raw.call("command/exec", {
      argv: ["sh", "-c", script],
      cwd: "file:///",
      env: {},
      tty: false,
    });
    const own = (): number[] =>
      running("user-server.js").filter((pid) => statOf(pid)?.parent === process.pid);
    await pollUntil(
      () => own().some((pid) => statOf(pid)?.state === "T"),
      DEADLINE_MS,
      () => "the stop",
    );
    await writeTable('preset = "observe"\nrun_as = "games"');
    expect(await withDeadline(raw.closed, DEADLINE_MS, () => "the end")).toBe(CREDENTIAL_ENDED);
    // So that nothing waits for it.
    for (const pid of own()) process.kill(pid, "SIGCONT");
    await answered;
  });

  it("refuses what cannot be recorded", async () => {
    const path = await writeTable('preset = "full"\nrun_as = "games"');
    using disk = mountTmpfs("1m");
    const authentication = { mode: "token-table", path } as const;
    const audit = { file: join(disk.path, "audit.jsonl") };
    await using server = await serve({ environment: {}, authentication, audit });
    await using raw = await openSocket(server.url, TOKEN);
    const read = ["fs/readFile", { path: "file:///etc/hostname" }] as const;
    expect((await raw.call(...read)).error).toBeUndefined();
    await writeFile(join(disk.path, "ballast"), Buffer.alloc(2 * 1024 * 1024)).catch(() => {});
    await pollUntil(
      async () => (await raw.call(...read)).error?.data?.code === "AUDIT_FAILED",
      DEADLINE_MS,
      () => "the refusal",
    );
  });

  it("records and counts what is done as another user", async () => {
    const path = await writeTable('preset = "full"\nrun_as = "games"');
    const file = join(directory, "audit.jsonl");
    const headers = { authorization: `Bearer ${TOKEN}` };
    await using server = await serve({
      environment: {},
      authentication: { mode: "token-table", path },
      audit: { file },
      metrics: true,
    });
    const host = await connect(server.url, { token: TOKEN });
    await host.run(["true"]);
    await expect(host.files.read("/etc/shadow")).rejects.toMatchObject({ errno: "EACCES" });
    const metrics = async (): Promise<string> =>
      (await fetch(`${server.url.replace("ws:", "http:")}/metrics`, { headers })).text();
    await pollUntil(
      async () => /method="fs\/readFile".* 1\n/.test(await metrics()),
      DEADLINE_MS,
      () => "the figures",
    );
    await host.close();
    const events = async (): Promise<string[]> =>
      (await readFile(file, "utf8"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { event: string; principal?: string })
        .filter(({ principal }) => principal === "name:ann")
        .map(({ event }) => event);
    await pollUntil(
      async () => (await events()).includes("disconnect"),
      DEADLINE_MS,
      () => "the lines",
    );
    expect(await events()).toEqual(["connect", "session", "start", "ended", "failed", "disconnect"]);
  });
});

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const [, state = "", parent] = /\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

/** User of the socket with this local port on this machine. */
function ownerOf(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const line = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((each) => each.trim().split(/\s+/))
    .find(([, local]) => local === `0100007F:${hex}`);
  return Number(line?.[7] ?? -1);
}
