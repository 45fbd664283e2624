import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import {
  closeProxiesAfterEach,
  createProxy,
  createUpstream,
  exchange,
  get,
  socksRequest,
  status,
} from "../../../test/fixtures/proxy-scene.ts";

closeProxiesAfterEach();

const NOBODY = 65_534;

/** What a program of that user reads after it has sent bytes to a port of this machine. */
async function exchangeAs(user: number, port: number, bytes: string | Uint8Array): Promise<string> {
  const script = 'exec 3<>"/dev/tcp/127.0.0.1/$0"; cat >&3; timeout 20 cat <&3';
  const child = spawn("/bin/bash", ["-c", script, String(port)], {
    uid: user,
    gid: user,
    cwd: "/",
    // What it sends last may find the connection closed.
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {});
  child.stdin.end(bytes);
  child.stdout.setEncoding("latin1");
  return text(child.stdout);
}

describe.runIf(process.getuid?.() === 0)("a proxy on this machine", () => {
  it("serves only its own user", async () => {
    const reached: string[] = [];
    const upstream = await createUpstream(({ url = "" }) => {
      reached.push(url);
      return "reached";
    });
    const { http, socks, decisions } = await createProxy();
    const request = get(`http://127.0.0.1:${upstream}/inside`);
    const connect = `CONNECT 127.0.0.1:${upstream} HTTP/1.1\r\n\r\n`;
    for (const bytes of [request, connect]) {
      const answer = await exchangeAs(NOBODY, http, bytes);
      expect(status(answer)).toBe("403");
      expect(answer).toMatch(/\r\n\r\nthis proxy serves only the user who runs its process$/);
    }
    expect(await exchangeAs(NOBODY, socks, socksRequest("127.0.0.1", upstream))).toBe("\x05\xff");
    expect([reached, decisions]).toEqual([[], []]);
    expect(await exchange(http, request)).toMatch(/reached$/);
    expect(await exchangeAs(0, http, request)).toMatch(/reached$/);
    const tunnelled = Buffer.concat([socksRequest("127.0.0.1", upstream), Buffer.from(request)]);
    expect(await exchangeAs(0, socks, tunnelled)).toMatch(/reached$/);
  });

  it("has room for its own user, however many connections of others there are", async () => {
    const upstream = await createUpstream(() => "reached");
    const { http } = await createProxy();
    const script = 'for n in $(seq 200); do exec {fd}<>"/dev/tcp/127.0.0.1/$0"; done; echo open; exec cat';
    const stranger = spawn("/bin/bash", ["-c", script, String(http)], {
      uid: NOBODY,
      gid: NOBODY,
      cwd: "/",
      stdio: ["pipe", "pipe", "ignore"],
    });
    try {
      expect(String(await new Promise((resolve) => stranger.stdout.once("data", resolve)))).toBe("open\n");
      expect(await exchange(http, get(`http://127.0.0.1:${upstream}/`))).toMatch(/reached$/);
    } finally {
      stranger.kill("SIGKILL");
    }
  });
});
