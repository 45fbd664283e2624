import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { diagnoseSocket } from "../../native/socket-diagnosis.ts";
import { isHeldOutside, isInOwnSandbox, ownerOf } from "./connection-owner.ts";

/** Whether the kernel answers questions about one socket, as not everywhere. */
const kernel = vi.hoisted(() => ({ answers: true }));
vi.mock(import("../../native/socket-diagnosis.ts"), async (original) => {
  const real = await original();
  return { diagnoseSocket: (ends) => (kernel.answers ? real.diagnoseSocket(ends) : undefined) };
});

/** A connection to this very process, and its server's end. */
async function connection(
  host = "127.0.0.1",
  from = host,
): Promise<{ client: Socket; accepted: Socket; end: () => void }> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: from });
  const [accepted] = (await once(server, "connection")) as [Socket];
  return {
    client,
    accepted,
    end: () => {
      client.destroy();
      accepted.destroy();
      server.close();
    },
  };
}

function ends({ remoteAddress, remotePort, localAddress, localPort }: Socket) {
  return {
    remoteAddress: remoteAddress!,
    remotePort: remotePort!,
    localAddress: localAddress!,
    localPort: localPort!,
  };
}

it("is asked for over one socket, however often", async () => {
  kernel.answers = true;
  const { accepted, end } = await connection();
  ownerOf(ends(accepted));
  const before = readdirSync("/proc/self/fd").length;
  // Interleaved, as an answer to one question must not be taken for that to another.
  for (let turn = 0; turn < 20; turn += 1) {
    expect(ownerOf(ends(accepted))).toBe(process.geteuid?.());
    expect(ownerOf({ ...ends(accepted), remotePort: 1 })).toBeUndefined();
  }
  expect(readdirSync("/proc/self/fd")).toHaveLength(before);
  end();
});

describe.each([
  ["asked for alone", true],
  ["searched for among all", false],
])("the other end of a connection, %s,", (_, answers) => {
  beforeAll(() => {
    kernel.answers = answers;
  });

  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
    ["::", "127.0.0.1"],
  ])("is held outside if a process here has it: listening on %s, connected to %s", async (host, to) => {
    const { accepted, end } = await connection(host, to);
    expect(await isHeldOutside(ends(accepted))).toBe(true);
    expect(ownerOf(ends(accepted))).toBe(process.geteuid?.());
    end();
  });

  it("is not the end of another connection with the same ports", async () => {
    const { accepted, end } = await connection();
    expect(await isHeldOutside({ ...ends(accepted), remoteAddress: "127.0.0.2" })).toBe(false);
    end();
  });

  it("has no holder once it is closed or reset, though what it sent can still be read", async () => {
    for (const close of ["end", "resetAndDestroy"] as const) {
      const { client, accepted, end } = await connection();
      const peer = ends(accepted);
      accepted.pause();
      client.write("x");
      client[close]();
      client.destroy();
      await once(client, "close");
      expect(await isHeldOutside(peer)).toBe(false);
      expect(ownerOf(peer)).toBeUndefined();
      end();
    }
  });

  it("is another machine's if its address is none of this one", async () => {
    expect(
      await isHeldOutside({
        remoteAddress: "192.0.2.1",
        remotePort: 1,
        localAddress: "192.0.2.2",
        localPort: 2,
      }),
    ).toBe(true);
  });
});

describe.runIf(process.geteuid?.() === 0)("a connection of another user", () => {
  const NOBODY = 65_534;

  it.each([
    ["outside", [], true],
    ["in a sandbox", ["unshare", "--user", "--map-root-user", "--pid", "--fork"], false],
  ])("that is held %s", async (_, prefix, isOutside) => {
    kernel.answers = true;
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const script = `require("net").connect(${port}, "127.0.0.1").on("close", () => process.exit())`;
    const [program, ...args] = [...prefix, process.execPath, "-e", script];
    const child = spawn(program, args, { uid: NOBODY, gid: NOBODY, cwd: "/", stdio: "ignore" });
    const [accepted] = (await once(server, "connection")) as [Socket];
    // Who is not of this server can have no sandbox of its.
    expect(await isHeldOutside(ends(accepted))).toBe(true);
    expect(await isHeldOutside(ends(accepted), new Set([0, NOBODY]))).toBe(isOutside);
    accepted.destroy();
    server.close();
    await once(child, "exit");
  });
});

it("one socket is found without a look at all others, and is none of those that listen", async () => {
  kernel.answers = true;
  const { accepted, end } = await connection();
  const { remotePort: port, localPort: peerPort } = ends(accepted);
  const loopback = [127, 0, 0, 1];
  const asked = { address: loopback, port, peerAddress: loopback, peerPort };
  expect(diagnoseSocket(asked)).toMatchObject({ user: process.geteuid?.() });
  expect(diagnoseSocket({ ...asked, port: peerPort, peerPort: 1 })).toBeNull();
  end();
});

describe("a process is in a sandbox of this program", () => {
  const IN_NAMESPACE = "unshare --user --map-root-user --pid --fork sleep 60";

  async function childOf(pid: number): Promise<number> {
    const children = () => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    await expect.poll(children).not.toBe("");
    return Number(children());
  }

  it("if it descends from it in a process namespace below", async () => {
    const child = spawn("sh", ["-c", `exec ${IN_NAMESPACE}`]);
    try {
      expect(isInOwnSandbox(await childOf(child.pid!))).toBe(true);
      expect(isInOwnSandbox(child.pid!)).toBe(false);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("but not in a container of others", async () => {
    const child = Number(
      execFileSync("sh", ["-c", `${IN_NAMESPACE} >/dev/null 2>&1 & echo $!`], { encoding: "utf8" }),
    );
    const inner = await childOf(child);
    try {
      expect(isInOwnSandbox(inner)).toBe(false);
    } finally {
      process.kill(inner, "SIGKILL");
    }
  });

  it("if it has ended, as far as anybody knows", async () => {
    const child = spawn("true");
    await once(child, "exit");
    expect([isInOwnSandbox(child.pid!), isInOwnSandbox(process.pid)]).toEqual([true, false]);
  });
});
