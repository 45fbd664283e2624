import { describe, expect, it } from "vitest";
import { isLoopback, parseListenUrl } from "./listen-url.ts";

describe("parseListenUrl", () => {
  it.each([
    ["stdio", { kind: "stdio" }],
    ["stdio://", { kind: "stdio" }],
    ["ws://127.0.0.1:0", { kind: "websocket", host: "127.0.0.1", port: 0 }],
    ["ws://[::1]:65535", { kind: "websocket", host: "::1", port: 65_535 }],
  ])("takes %s", (url, address) => {
    expect(parseListenUrl(url)).toEqual(address);
  });

  it.each(["http://127.0.0.1:1", "wss://127.0.0.1:1", "tcp://x", "", "stdio:/", "unix:///x"])(
    "does not serve %j",
    (url) => {
      expect(() => parseListenUrl(url)).toThrow(
        `Error: unsupported --listen URL \`${url}\`; expected \`ws://IP:PORT\` or \`stdio\``,
      );
    },
  );

  it.each([
    "ws://localhost:1",
    "ws://127.0.0.1",
    "ws://127.0.0.1:0/x",
    "ws://0.0.0.0:0x",
    "ws://127.0.0.1:65536",
    "ws://::1:1",
    "ws://[127.0.0.1]:1",
  ])("cannot read %j", (url) => {
    expect(() => parseListenUrl(url)).toThrow(`invalid websocket --listen URL \`${url}\``);
  });
});

it("only 127.0.0.0/8 and ::1 are loopback", () => {
  expect(["127.0.0.1", "127.9.9.9", "::1"].every(isLoopback)).toBe(true);
  expect(["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::ffff:127.0.0.1"].some(isLoopback)).toBe(false);
});
