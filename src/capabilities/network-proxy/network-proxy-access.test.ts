import { describe, expect, it } from "vitest";
import type { Attempt } from "./gatekeeper.ts";
import type { Lookup } from "./name-resolver.ts";
import {
  closeProxiesAfterEach,
  collect,
  createProxy,
  createRawUpstream,
  createUpstream,
  dial,
  exchange,
  exchangeAndEnd,
  get,
  once,
  socksReply,
  socksRequest,
  status,
} from "../../../test/fixtures/proxy-scene.ts";

closeProxiesAfterEach();

describe("the SOCKS proxy", () => {
  it("tunnels to names and addresses, whatever the pieces in which a request comes", async () => {
    const port = await createRawUpstream((socket) => {
      void collect(socket).then((received) => socket.end(`got ${received}`));
    });
    const { socks } = await createProxy({ names: { "a.test": ["127.0.0.1"] } });
    const whole = Buffer.concat([socksRequest("a.test", port), Buffer.from("hello")]);
    expect(await exchangeAndEnd(socks, whole)).toBe(`${socksReply(0)}got hello`);
    const socket = dial(socks, { allowHalfOpen: true });
    const received = collect(socket);
    for (const byte of whole) {
      socket.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
    expect(await received).toMatch(/got hello$/);
  });

  it("says that a host is not allowed, and that it cannot be reached", async () => {
    const { socks } = await createProxy({ deny: ["bad.test"] });
    expect(await exchange(socks, socksRequest("bad.test", 1))).toBe(socksReply(2));
    expect(await exchange(socks, socksRequest("no-such-name.test", 1))).toBe(socksReply(5));
  });
});

describe("addresses", () => {
  it("are checked after the name is resolved, and no other is connected to", async () => {
    const port = await createUpstream(() => "reached");
    let lookups = 0;
    // The second answer is what an attacker wants the connection to use.
    const rebinding: Lookup = async () => {
      lookups += 1;
      return [{ address: lookups === 1 ? "192.0.2.1" : "127.0.0.1", family: 4 }];
    };
    const { http, decisions } = await createProxy({ allowLocal: false, lookup: rebinding });
    expect(await exchange(http, get(`http://rebound.test:${port}/`))).toContain("not_allowed_local");
    expect([lookups, decisions.length]).toEqual([1, 1]);
    const once = await createProxy({ lookup: rebinding });
    expect(await exchange(once.http, get(`http://rebound.test:${port}/`))).toContain("reached");
    expect(lookups).toBe(2);
  });

  it.each([
    ["a.test", ["10.0.0.1"]],
    ["a.test", ["1.1.1.1", "127.0.0.1"]],
    ["a.test", ["::ffff:169.254.169.254"]],
    ["2130706433", ["127.0.0.1"]],
    ["no-such-name.test", []],
  ])("of %s, %j, are refused where local ones are, even if the name is allowed", async (name, addresses) => {
    const { http } = await createProxy({ allowLocal: false, allow: [name], names: { [name]: addresses } });
    const answer = await exchange(
      http,
      get(`http://x/`)
        .replace("http://x/", `http://${name}/`)
        .replace(/Host: x\r\n/, ""),
    );
    expect(answer).toContain("not_allowed_local");
  });

  it("of this server's own listeners are out of reach", async () => {
    const port = await createUpstream(() => "commands");
    const { http, socks } = await createProxy({ isOwn: (ip, own) => ip === "127.0.0.1" && own === port });
    expect(status(await exchange(http, get(`http://127.0.0.1:${port}/`)))).toBe("403");
    expect(status(await exchange(http, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`))).toBe("403");
    expect(await exchange(socks, socksRequest("127.0.0.1", port))).toBe(socksReply(2));
  });
});

describe("the client's decision", () => {
  it("is asked for what is not allowed, and only for that", async () => {
    const port = await createUpstream(() => "reached");
    const asked: Attempt[] = [];
    const { http, decisions } = await createProxy({
      allow: [],
      deny: ["bad.test"],
      ask: async (attempt) => {
        asked.push(attempt);
        return { type: "allow" };
      },
    });
    expect(await exchange(http, get(`http://127.0.0.1:${port}/`))).toContain("reached");
    expect(status(await exchange(http, get("http://bad.test/")))).toBe("403");
    expect(asked).toMatchObject([{ host: "127.0.0.1", port, protocol: "http" }]);
    expect(decisions[0]).toMatchObject({ source: "decider", reason: "not_allowed", policyOverride: true });
  });

  it.each(["deny", "ask"] as const)("%s blocks, with its reason", async (type) => {
    const { http } = await createProxy({ allow: [], ask: async () => ({ type, reason: "too far" }) });
    const answer = await exchange(http, get("http://a.test/"));
    expect(answer).toContain("x-proxy-error: blocked-by-policy");
    expect(answer).toContain(`"reason":"too far","decision":"${type}","source":"decider"`);
  });

  it("does not make a local address public", async () => {
    const { http } = await createProxy({
      allow: [],
      allowLocal: false,
      names: { "a.test": ["127.0.0.1"] },
      ask: async () => ({ type: "allow" }),
    });
    expect(await exchange(http, get("http://a.test/"))).toContain("not_allowed_local");
  });

  it("is no longer waited for when the proxy ends", async () => {
    let aborted: Promise<unknown> | undefined;
    const { proxy, http } = await createProxy({
      allow: [],
      ask: (_attempt, signal) => {
        aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
        return aborted.then(() => ({ type: "deny", reason: "" }));
      },
    });
    const socket = dial(http);
    socket.write("GET http://a.test/ HTTP/1.1\r\n\r\n");
    await expect.poll(() => aborted !== undefined).toBe(true);
    proxy.close();
    await Promise.all([aborted, once(socket, "close")]);
  });
});
