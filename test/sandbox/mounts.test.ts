import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run, untilOutput } from "../conformance/process-events.ts";
import { openWebSocketPeer, type RawPeer } from "../conformance/raw-peer.ts";
import { pathEntry, READ_ALL, sandboxOf } from "../conformance/sandbox-probe.ts";
import { launch, SERVER_PATH, type ServerProcess } from "../conformance/server-process.ts";
import { base64, start } from "../conformance/verifies.ts";

const READ_ONLY = sandboxOf([READ_ALL]);

let directory: string;
const servers: ServerProcess[] = [];

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "exec-server-mounts-")));
});

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function connect(path = SERVER_PATH): Promise<RawPeer> {
  const server = await launch("ours", ["--listen", "ws://127.0.0.1:0"], { env: { PATH: path } });
  servers.push(server);
  const peer = await openWebSocketPeer(await server.banner());
  await peer.handshake();
  return peer;
}

/** A program named bwrap that runs a script before the real one. */
function beforeBubblewrap(script: string): string {
  const real = execFileSync("sh", ["-c", "command -v bwrap"], { encoding: "utf8" }).trim();
  const shim = join(directory, "shim");
  mkdirSync(shim, { recursive: true });
  // The server asks for its version, and tries the sandbox, before anything else.
  const text = `#!/bin/sh\ncase "$*" in *${directory}/work*) ${script};; esac\nexec ${real} "$@"\n`;
  writeFileSync(join(shim, "bwrap"), text, { mode: 0o755 });
  return `${shim}:${SERVER_PATH}`;
}

const inside = (name: string): string => join(directory, name);

describe("a sandbox whose mounts are not where they must be does not run anything", () => {
  const REFUSED = {
    exitCode: 101,
    stdout: "",
    stderr: expect.stringContaining("while the sandbox was prepared"),
  };

  async function ranWith(script: string, ...entries: Parameters<typeof sandboxOf>[0]): Promise<object> {
    const peer = await connect(beforeBubblewrap(script));
    const sandbox = sandboxOf([READ_ALL, ...entries]);
    const { exitCode, stdout, stderr } = await run(peer, "p", ["/bin/sh", "-c", "echo ran"], { sandbox });
    return { exitCode, stdout: String(stdout), stderr: String(stderr) };
  }

  it("because a directory has become a link, and the writable one is elsewhere", async () => {
    mkdirSync(inside("work/a/b"), { recursive: true });
    mkdirSync(inside("victim/b"), { recursive: true });
    symlinkSync("../victim", inside("work/link"));
    const [a, link, aside] = ["work/a", "work/link", "work/aside"].map(inside);
    const exchange = `mv ${a} ${aside} && mv ${link} ${a} && mv ${aside} ${link}`;
    const entry = pathEntry(`file://${inside("work/a/b")}`, "write");
    expect(await ranWith(exchange, entry)).toEqual(REFUSED);
    expect(readdirSync(inside("victim/b"))).toEqual([]);
  });

  it("because another directory is hidden", async () => {
    for (const name of ["work/hidden", "work/other"]) mkdirSync(inside(name), { recursive: true });
    const [hidden, other] = ["work/hidden", "work/other"].map(inside);
    const lead = `for word; do shift; [ "$word" = ${hidden} ] && word=${other}; set -- "$@" "$word"; done`;
    expect(await ranWith(lead, pathEntry(`file://${hidden}`, "deny"))).toEqual(REFUSED);
    expect(await ranWith(":", pathEntry(`file://${hidden}`, "deny"))).toMatchObject({ stdout: "ran\n" });
  });

  it("unless their names only have to be spelled otherwise", async () => {
    const name = "work/a b\\c\td\ne#ü";
    mkdirSync(inside(name), { recursive: true });
    const uri = pathToFileURL(inside(name)).href;
    expect(await ranWith(":", pathEntry(uri, "write"))).toEqual({ exitCode: 0, stdout: "ran\n", stderr: "" });
  });
});

it("what is mounted while a sandbox runs does not appear in it", async () => {
  const shared = inside("shared");
  const point = join(shared, "disk");
  mkdirSync(point, { recursive: true });
  const mount = (...args: string[]) => execFileSync("mount", args);
  mount("--bind", shared, shared);
  try {
    // As every mount is by default with systemd.
    mount("--make-shared", shared);
    const peer = await connect();
    const script = `echo ready; read -r _; ls ${point}; echo evil > ${point}/evil`;
    await peer.request(
      "process/start",
      start("p", ["/bin/sh", "-c", script], { sandbox: READ_ONLY, pipeStdin: true }),
    );
    await untilOutput(peer, "p", /ready/);
    mount("-t", "tmpfs", "tmpfs", point);
    writeFileSync(join(point, "secret"), "");
    await peer.request("process/write", { processId: "p", writeId: "1", chunk: base64("\n") });
    await untilOutput(peer, "p", /Read-only file system/);
    expect(existsSync(join(point, "evil"))).toBe(false);
  } finally {
    execFileSync("umount", ["--lazy", "--recursive", shared]);
  }
});
