import { describe, expect, it } from "vitest";
import { isExposed, parseListenUrl } from "./listen-address.ts";

describe("parseListenUrl", () => {
  it.each([
    ["stdio", { kind: "stdio" }],
    ["stdio://", { kind: "stdio" }],
    ["none", { kind: "none" }],
    ["ws://127.0.0.1:0", { kind: "websocket", host: "127.0.0.1", port: 0, isSecure: false }],
    ["unix:///run/x", { kind: "unix", path: "/run/x" }],
    ["ws://[::1]:65535", { kind: "websocket", host: "::1", port: 65_535, isSecure: false }],
    ["wss://0.0.0.0:443", { kind: "websocket", host: "0.0.0.0", port: 443, isSecure: true }],
  ])("takes %s", (url, address) => {
    expect(parseListenUrl(url)).toEqual(address);
  });

  it.each(["http://127.0.0.1:1", "wsss://127.0.0.1:1", "tcp://x", "", "stdio:/", "unix://x/y"])(
    "does not serve %j",
    (url) => {
      expect(() => parseListenUrl(url)).toThrow(
        `unsupported listen URL \`${url}\`; expected \`ws://IP:PORT\` or \`stdio\``,
      );
    },
  );

  it.each([
    "ws://localhost:1",
    "wss://localhost:1",
    "ws://127.0.0.1",
    "ws://127.0.0.1:0/x",
    "ws://0.0.0.0:0x",
    "ws://127.0.0.1:65536",
    "ws://::1:1",
    "ws://[127.0.0.1]:1",
  ])("cannot read %j", (url) => {
    expect(() => parseListenUrl(url)).toThrow(`invalid websocket listen URL \`${url}\``);
  });
});

it("all but 127.0.0.0/8, ::1, Unix sockets and stdio is exposed", () => {
  const websocket = (host: string) => ({ kind: "websocket", host, port: 1, isSecure: false }) as const;
  expect(["127.0.0.1", "127.9.9.9", "::1"].map(websocket).some(isExposed)).toBe(false);
  expect(isExposed({ kind: "unix", path: "/x" }) || isExposed({ kind: "stdio" })).toBe(false);
  const exposed = ["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::ffff:127.0.0.1"];
  expect(exposed.map(websocket).every(isExposed)).toBe(true);
});
