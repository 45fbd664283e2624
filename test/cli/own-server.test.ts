import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { socketUrl } from "../../src/base/socket-url.ts";
import { connect } from "../../src/client/host/connect.ts";
import { launch } from "../conformance/server-process.ts";
import { startCommand } from "./command.ts";
import { Person } from "./person.ts";

const NOBODY = 65_534;
/** The server is the parent of what it starts. */
const PARENT = ["run", "--", "sh", "-c", "echo $PPID"];

const served = (stdout: string) => ({ status: 0, signal: null, stdout, stderr: "" });

describe("the user's own server", () => {
  it("is started by the first command, for its user alone, and serves the next ones", async () => {
    await using person = new Person();
    const first = await person.run(PARENT);
    const { pid } = await person.server();
    expect(first).toEqual(served(`${pid}\n`));
    expect(await person.run(PARENT)).toEqual(first);
    const modes = [dirname(person.socket), person.socket, person.log].map(
      (path) => lstatSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
    const [, , , , , session, terminal] = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ");
    expect({ session: Number(session), terminal }).toEqual({ session: pid, terminal: "0" });
    expect(readFileSync(person.log, "utf8")).toBe("");
  });

  it("is started once by fifty commands at once", async () => {
    await using person = new Person();
    const all = await Promise.all(Array.from({ length: 50 }, () => person.run(PARENT)));
    const { pid } = await person.server();
    expect(all).toEqual(all.map(() => served(`${pid}\n`)));
    // A second one would complain here that the place is taken.
    expect(readFileSync(person.log, "utf8")).toBe("");
  });

  it("gives each command its own directory and environment, not those of the first user", async () => {
    await using person = new Person();
    const [one, other] = [join(person.home, "one"), join(person.home, "other")];
    mkdirSync(one);
    mkdirSync(other);
    const show = ["run", "--", "/bin/sh", "-c", "pwd; echo $ONE-$OTHER-$HOME"];
    expect((await person.run(show, { cwd: one, env: { ONE: "1" } })).stdout).toBe(
      `${one}\n1--${person.home}\n`,
    );
    expect((await person.run(show, { cwd: other, env: { OTHER: "2", HOME: "/nowhere" } })).stdout).toBe(
      `${other}\n-2-/nowhere\n`,
    );
    const { pid } = await person.server();
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toMatch(/ONE=|OTHER=|XDG_RUNTIME_DIR=/);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe(userInfo().homedir);
  });

  it("takes a relative --cwd from where the command is typed", async () => {
    await using person = new Person();
    const below = join(person.home, "a", "b");
    mkdirSync(below, { recursive: true });
    const pwd = ["--", "pwd"];
    expect(await person.run(["run", "--cwd", "b", ...pwd], { cwd: dirname(below) })).toEqual(
      served(`${below}\n`),
    );
    expect(await person.run(["run", "--cwd", "..", ...pwd], { cwd: below })).toEqual(
      served(`${dirname(below)}\n`),
    );
  });

  it("keeps nothing open of the script that started it", async () => {
    await using person = new Person();
    const lock = join(person.home, "lock");
    const script = `exec 9> ${lock}; flock 9; "$@"`;
    expect((await person.run(PARENT, { through: ["sh", "-c", script, "sh"] })).status).toBe(0);
    // Its script has ended, so the lock is free.
    execFileSync("flock", ["--nonblock", lock, "true"]);
    expect(await person.server()).toMatchObject({ connections: 1 });
  });

  it("is started again after it was killed, although its socket is still there", async () => {
    await using person = new Person();
    await person.run(PARENT);
    for (let round = 0; round < 3; round += 1) {
      const { pid } = await person.server();
      process.kill(pid, "SIGKILL");
      const { status, stdout, stderr } = await person.run(PARENT);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(Number(stdout)).not.toBe(pid);
    }
  });

  // What a server does to those who come in the moment in which it ends.
  const endings: Record<string, (socket: Socket) => void> = {
    "it closes the connection": (socket) => socket.destroy(),
    "it refuses": (socket) => socket.end("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"),
    "it ends before its first answer": (socket) =>
      socket.once("data", (request: Buffer) => {
        const key = /sec-websocket-key: (.*)\r\n/i.exec(request.toString())?.[1] ?? "";
        const accept = createHash("sha1")
          .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
          .digest("base64");
        const upgrade = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade";
        socket.write(`${upgrade}\r\nsec-websocket-accept: ${accept}\r\n\r\n`);
        socket.once("data", () => socket.destroy());
      }),
  };

  it.each(Object.keys(endings))(
    "is started again if a command meets it in its last moment: %s",
    async (how) => {
      await using person = new Person();
      mkdirSync(dirname(person.socket), { mode: 0o700 });
      let met = 0;
      const ending = createServer((socket) => {
        met += 1;
        socket.on("error", () => {});
        endings[how]!(socket);
        ending.close();
        rmSync(person.socket, { force: true });
      });
      ending.listen(person.socket);
      await once(ending, "listening");
      expect(await person.run(["run", "--", "echo", "served"])).toEqual(served("served\n"));
      expect(met).toBe(1);
    },
  );

  it("that was killed ends a command within seconds, with one line", async () => {
    await using person = new Person();
    const command = startCommand(["run", "--", "sh", "-c", "echo $PPID; exec sleep 60"], {
      env: person.env,
      cwd: person.home,
    });
    await command.shows("\n");
    const begun = performance.now();
    process.kill(Number(command.stdout), "SIGKILL");
    const { status, stderr } = await command.ended();
    expect({ status, lines: stderr.trimEnd().split("\n").length }).toEqual({ status: 255, lines: 1 });
    // A session of any other server is looked for during 50 s.
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it("stays beyond its idle time for what it keeps", async () => {
    await using person = new Person();
    mkdirSync(dirname(person.socket), { mode: 0o700 });
    const idle = ["--exit-when-idle", "3s", "--detached-session-ttl-ms", "1"];
    const server = await launch("ours", ["--listen", `unix://${person.socket}`, ...idle]);
    try {
      await server.banner();
      // A client stays connected until the command has arrived, which takes its time on a busy machine.
      const guest = await connect(socketUrl(person.socket));
      await person.run(["run", "-d", "--name", "kept", "--", "sh", "-c", "echo up; exec sleep 600"]);
      await guest.close();
      await setTimeout(4000);
      expect(await person.run(["logs", "kept"])).toEqual(served("up\n"));
      expect(await person.server()).toMatchObject({ pid: server.child.pid, runningProcesses: 1 });
      await person.run(["kill", "kept"]);
      await setTimeout(4000);
      expect(await person.run(["wait", "kept"])).toMatchObject({ status: 143 });
      expect((await person.server()).pid).toBe(server.child.pid);
    } finally {
      await server.stop();
    }
  });

  it("says that a working directory is gone", async () => {
    await using person = new Person();
    const gone = join(person.home, "gone");
    const leave = `mkdir ${gone}; cd ${gone}; rmdir ${gone}; exec "$@"`;
    const ended = await person.run(["run", "--", "true"], { through: ["sh", "-c", leave, "sh"] });
    expect(ended).toMatchObject({
      status: 255,
      stderr: "exec-server: the working directory no longer exists; change to another one, or pass --cwd\n",
    });
  });

  it("says why it did not start", async () => {
    await using person = new Person();
    const ended = await person.run(PARENT, { env: { EXEC_SERVER_EXIT_WHEN_IDLE: "never" } });
    expect(ended.stderr).toContain(
      "exec-server: your own server did not start: error: invalid value 'never'",
    );
    expect(ended.stderr).toContain(`see ${person.log}`);
    expect([ended.status, ended.stdout, ended.stderr.split("\n").length]).toEqual([255, "", 2]);
    expect((await person.run(PARENT)).status).toBe(0);
  });

  it("does not write its log through a link", async () => {
    await using person = new Person();
    mkdirSync(dirname(person.log), { mode: 0o700 });
    symlinkSync("/etc/passwd", person.log);
    const ended = await person.run(PARENT);
    expect(ended.stderr).toBe(
      `exec-server: cannot open ${person.log} for your own server: Symbolic link loop (os error 40)\n`,
    );
    expect(ended.status).toBe(255);
  });
});

describe("a directory where others could answer is refused:", () => {
  const refusals: Record<string, [prepare: (directory: string, person: Person) => void, why: string]> = {
    "a link": [
      (directory, person) => {
        mkdirSync(join(person.home, "else"), { mode: 0o700 });
        symlinkSync(join(person.home, "else"), directory);
      },
      "is a symbolic link; remove it",
    ],
    "one of somebody else": [
      (directory) => {
        mkdirSync(directory, { mode: 0o700 });
        chownSync(directory, NOBODY, NOBODY);
      },
      `belongs to somebody else (user ${NOBODY}); set XDG_RUNTIME_DIR to a directory of your own`,
    ],
    "one that is open": [
      (directory) => {
        mkdirSync(directory);
        chmodSync(directory, 0o750);
      },
      "is open to other users; run 'chmod 700 DIRECTORY'",
    ],
    "a file": [(directory) => writeFileSync(directory, ""), "is not a directory; remove it"],
  };

  it.each(Object.keys(refusals))("%s", async (name) => {
    await using person = new Person();
    const directory = dirname(person.socket);
    const [prepare, why] = refusals[name]!;
    prepare(directory, person);
    expect(await person.run(PARENT)).toEqual({
      status: 255,
      signal: null,
      stdout: "",
      stderr: `exec-server: the directory of your own server, ${directory}, ${why.replace("DIRECTORY", directory)}\n`,
    });
  });
});

it("a user whom the system does not list, with another's runtime directory, gets a place of their own", async () => {
  await using person = new Person();
  chmodSync(person.home, 0o755);
  const user = 54_321;
  const place = `/tmp/exec-server-${user}`;
  const through = ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--"];
  const show = ["run", "--", "sh", "-c", "id -u; echo $PPID"];
  try {
    const { status, stdout, stderr } = await person.run(show, { through, env: { HOME: undefined } });
    const [id, server] = stdout.split("\n").map(Number);
    process.kill(server!, "SIGKILL");
    expect({ status, stderr, id }).toEqual({ status: 0, stderr: "", id: user });
    expect(lstatSync(place)).toMatchObject({ uid: user, mode: 0o40_700 });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});
