import { expect } from "vitest";
import { httpRequest, RawSocket, requestText, upgradeHeaders } from "./raw-http.ts";
import { openWebSocketPeer } from "./raw-peer.ts";
import type { Target } from "./targets.ts";
import { verifies } from "./verifies.ts";

const { upgrade, connection, version, key } = upgradeHeaders;
const upgradeLines = Object.values(upgradeHeaders);

function urlOf(target: Target): string {
  if (target.url === undefined) throw new TypeError("not a websocket target");
  return target.url;
}

async function expectText(target: Target, headers: readonly string[], body: string): Promise<void> {
  const answer = await httpRequest(urlOf(target), "GET", "/", headers);
  expect({ status: answer.status, type: answer.headers["content-type"], body: answer.body }).toEqual({
    status: 400,
    type: "text/plain; charset=utf-8",
    body,
  });
}

verifies("ws:query", async ({ target }) => {
  const peer = await openWebSocketPeer(`${urlOf(target)}/?a=b&c`);
  try {
    await peer.handshake();
    expect(await peer.request("environment/status")).toEqual({ status: "ready" });
  } finally {
    peer.drop();
  }
});

verifies("ws:other-path", async ({ target }) => {
  for (const path of ["/x", "//", "/ws", "/index.html", "/x/?q"]) {
    const answer = await httpRequest(urlOf(target), "GET", path, upgradeLines);
    expect({ path, status: answer.status, body: answer.body }).toEqual({ path, status: 404, body: "" });
  }
});

verifies("ws:no-subprotocol", async ({ target }) => {
  const lines = [...upgradeLines, "Sec-WebSocket-Protocol: exec-server, json"];
  const answer = await httpRequest(urlOf(target), "GET", "/", lines);
  expect(answer.status).toBe(101);
  expect(answer.headers).not.toHaveProperty("sec-websocket-protocol");
});

verifies("ws:no-compression", async ({ target }) => {
  const lines = [...upgradeLines, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"];
  const answer = await httpRequest(urlOf(target), "GET", "/", lines);
  expect(answer.status).toBe(101);
  expect(answer.headers).not.toHaveProperty("sec-websocket-extensions");
});

verifies("ws:upgrade-spelling", async ({ target }) => {
  const lines = ["UPGRADE: WebSocket", "connection: keep-alive, UPGRADE", version, key];
  expect((await httpRequest(urlOf(target), "GET", "/", lines)).status).toBe(101);
});

verifies("ws:upgrade-accept", async ({ target }) => {
  const { status, headers } = await httpRequest(urlOf(target), "GET", "/", upgradeLines);
  expect(status).toBe(101);
  expect(headers["upgrade"]?.toLowerCase()).toBe("websocket");
  expect(headers["connection"]?.toLowerCase()).toBe("upgrade");
  // The example of RFC 6455, section 1.3.
  expect(headers["sec-websocket-accept"]).toBe("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});

verifies("http.readyz:get", async ({ target }) => {
  expect(await httpRequest(urlOf(target), "GET", "/readyz")).toMatchObject({ status: 200, body: "" });
});

verifies("http.readyz:head", async ({ target }) => {
  const answer = await httpRequest(urlOf(target), "HEAD", "/readyz");
  expect(answer.status).toBe(200);
  expect(answer.headers["content-length"] ?? "0").toBe("0");
});

verifies("http.readyz:query", async ({ target }) => {
  expect((await httpRequest(urlOf(target), "GET", "/readyz?verbose=1")).status).toBe(200);
});

verifies("http.readyz:other-methods", async ({ target }) => {
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const answer = await httpRequest(urlOf(target), method, "/readyz");
    const { status, body, headers } = answer;
    expect({ method, status, allow: headers["allow"], body }).toEqual({
      method,
      status: 405,
      allow: "GET,HEAD",
      body: "",
    });
  }
});

verifies("http.readyz:upgrade", async ({ target }) => {
  expect(await httpRequest(urlOf(target), "GET", "/readyz", upgradeLines)).toMatchObject({
    status: 200,
    body: "",
  });
});

verifies("http.root:get", async ({ target }) => {
  await expectText(target, [], "Connection header did not include 'upgrade'");
});

verifies("http.root:browser", async ({ target }) => {
  const accept = "Accept: text/html,application/xhtml+xml";
  const { headers } = await httpRequest(urlOf(target), "GET", "/", [accept]);
  expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  const other = await httpRequest(urlOf(target), "GET", "/p/name", [accept]);
  expect(other.headers["content-security-policy"]).toBe(headers["content-security-policy"]);
});

verifies("http.root:post", async ({ target }) => {
  for (const [method, headers] of [
    ["POST", []],
    ["PUT", upgradeLines],
    ["OPTIONS", []],
    ["DELETE", []],
  ] as const) {
    const answer = await httpRequest(urlOf(target), method, "/", headers);
    expect({
      method,
      status: answer.status,
      type: answer.headers["content-type"],
      body: answer.body,
    }).toEqual({
      method,
      status: 405,
      type: "text/plain; charset=utf-8",
      body: "Request method must be `GET`",
    });
  }
});

verifies("http.root:head", async ({ target }) => {
  expect((await httpRequest(urlOf(target), "HEAD", "/")).status).toBe(405);
});

verifies("http.upgrade:connection-header", async ({ target }) => {
  const body = "Connection header did not include 'upgrade'";
  await expectText(target, [upgrade, version, key], body);
  await expectText(target, ["Connection: keep-alive", upgrade, version, key], body);
});

verifies("http.upgrade:upgrade-header", async ({ target }) => {
  const body = "`Upgrade` header did not include 'websocket'";
  await expectText(target, [connection, version, key], body);
  await expectText(target, ["Upgrade: h2c", connection, version, key], body);
});

verifies("http.upgrade:version", async ({ target }) => {
  const body = "`Sec-WebSocket-Version` header did not include '13'";
  await expectText(target, [upgrade, connection, key], body);
  await expectText(target, ["Sec-WebSocket-Version: 12", upgrade, connection, key], body);
});

verifies("http.upgrade:key", async ({ target }) => {
  await expectText(target, [upgrade, connection, version], "`Sec-WebSocket-Key` header missing");
});

verifies("http:not-found", async ({ target }) => {
  for (const [method, path] of [
    ["GET", "/health"],
    ["GET", "/readyz/"],
    ["GET", "/x?y"],
    ["POST", "/x"],
    ["HEAD", "/x"],
    ["DELETE", "/health"],
  ] as const) {
    const { status, body } = await httpRequest(urlOf(target), method, path);
    expect({ method, path, status, body }).toEqual({ method, path, status: 404, body: "" });
  }
});

verifies("http:keep-alive", async ({ target }) => {
  const socket = new RawSocket(urlOf(target));
  try {
    socket.write(requestText(urlOf(target), "GET", "/readyz"));
    expect((await socket.readAnswer()).status).toBe(200);
    socket.write(requestText(urlOf(target), "GET", "/x") + requestText(urlOf(target), "GET", "/readyz"));
    expect((await socket.readAnswer()).status).toBe(404);
    expect((await socket.readAnswer()).status).toBe(200);
  } finally {
    socket.destroy();
  }
});

verifies("http:garbage", async ({ target }) => {
  const socket = new RawSocket(urlOf(target));
  try {
    socket.write("hello\r\n\r\n");
    expect((await socket.readAnswer()).status).toBe(400);
    await socket.ended;
  } finally {
    socket.destroy();
  }
});

verifies("http.origin:readyz", async ({ target }) => {
  for (const origin of ["http://example.com", "null", "", `http://${new URL(urlOf(target)).host}`]) {
    const { status, body } = await httpRequest(urlOf(target), "GET", "/readyz", [`Origin: ${origin}`]);
    expect({ origin, status, body }).toEqual({ origin, status: 403, body: "" });
  }
});

verifies("http.origin:upgrade", async ({ target }) => {
  for (const origin of ["http://example.com", "null", `http://${new URL(urlOf(target)).host}`]) {
    const { status, body } = await httpRequest(urlOf(target), "GET", "/", [
      ...upgradeLines,
      `Origin: ${origin}`,
    ]);
    expect({ origin, status, body }).toEqual({ origin, status: 403, body: "" });
  }
});

verifies("http.origin:first", async ({ target }) => {
  for (const [method, path] of [
    ["HEAD", "/readyz"],
    ["POST", "/readyz"],
    ["GET", "/healthz"],
    ["POST", "/"],
    ["OPTIONS", "/"],
    ["GET", "/"],
  ] as const) {
    const { status, body } = await httpRequest(urlOf(target), method, path, ["Origin: http://example.com"]);
    expect({ method, path, status, body }).toEqual({ method, path, status: 403, body: "" });
  }
});
