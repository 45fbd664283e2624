import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect } from "vitest";
import { WebSocket } from "ws";
import { withFiles } from "./process-events.ts";
import { type HttpAnswer, httpRequest, upgradeHeaders } from "./raw-http.ts";
import { type VerifyContext, verifies } from "./verifies.ts";

const upgradeLines = Object.values(upgradeHeaders);
const TOKEN = "Zm9v-token";

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Tries to upgrade; the answer is 101 and empty when the client is let in. */
async function upgrade(url: string, lines: readonly string[], path = "/"): Promise<HttpAnswer> {
  return httpRequest(url, "GET", path, [...upgradeLines, ...lines]);
}

async function expectAdmitted(url: string, ...lines: string[]): Promise<void> {
  expect({ lines, status: (await upgrade(url, lines)).status }).toEqual({ lines, status: 101 });
}

async function expectRefused(url: string, body: string, ...lines: string[]): Promise<void> {
  const answer = await upgrade(url, lines);
  expect({ lines, status: answer.status, body: answer.body }).toEqual({ lines, status: 401, body });
}

/** Starts a server that knows the token by its digest. */
async function launchWithDigest(launch: VerifyContext["launch"], token = TOKEN): Promise<string> {
  const server = await launch(["--ws-auth", "capability-token", "--ws-token-sha256", digestOf(token)]);
  return server.banner();
}

verifies("auth:off", async ({ target }) => {
  const url = target.url ?? "";
  for (const value of ["Bearer x", "Basic x", ""]) await expectAdmitted(url, `Authorization: ${value}`);
});

verifies("auth:upgrade-only", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${TOKEN}` } });
  try {
    const signal = AbortSignal.timeout(20_000);
    await once(socket, "open", { signal });
    socket.send(JSON.stringify({ id: 1, method: "initialize", params: { clientName: "conformance" } }));
    await once(socket, "message", { signal });
    socket.send(JSON.stringify({ method: "initialized" }));
    socket.send(JSON.stringify({ id: 2, method: "environment/status" }));
    const [data] = (await once(socket, "message", { signal })) as [Buffer];
    expect(JSON.parse(data.toString())).toEqual({ id: 2, result: { status: "ready" } });
  } finally {
    socket.terminate();
  }
});

verifies("auth:non-loopback", async ({ launch }) => {
  const listen = ["--listen", "ws://0.0.0.0:0"];
  const server = await launch([
    ...listen,
    "--ws-auth",
    "capability-token",
    "--ws-token-sha256",
    digestOf(TOKEN),
  ]);
  const url = await server.banner();
  expect(url).toMatch(/^ws:\/\/0\.0\.0\.0:[1-9]\d*$/);
  await expectRefused(url.replace("0.0.0.0", "127.0.0.1"), "missing websocket bearer token");
});

verifies("auth.header:missing", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  const { status, headers, body } = await upgrade(url, []);
  expect({ status, type: headers["content-type"], body }).toEqual({
    status: 401,
    type: "text/plain; charset=utf-8",
    body: "missing websocket bearer token",
  });
});

verifies("auth.header:scheme-case", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  for (const scheme of ["Bearer", "bearer", "BEARER", "bEaReR"]) {
    await expectAdmitted(url, `authorization: ${scheme} ${TOKEN}`);
  }
});

verifies("auth.header:blanks", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  await expectAdmitted(url, `Authorization: Bearer    ${TOKEN}   `);
  await expectAdmitted(url, `Authorization: Bearer \t${TOKEN}`);
  await expectAdmitted(url, `Authorization:   Bearer ${TOKEN}`);
});

verifies("auth.header:invalid", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  const values = [
    `Basic ${TOKEN}`,
    TOKEN,
    `Bearer${TOKEN}`,
    `Bearer\t${TOKEN}`,
    `Token Bearer ${TOKEN}`,
    "Bearer",
    "Bearer   ",
    "",
  ];
  for (const value of values) {
    await expectRefused(url, "invalid authorization header", `Authorization: ${value}`);
  }
});

verifies("auth.header:not-ascii", async ({ launch }) => {
  const url = await launchWithDigest(launch, "ж");
  await expectRefused(url, "invalid authorization header", "Authorization: Bearer ж");
});

verifies("auth.header:repeated", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  const [good, bad] = [`Authorization: Bearer ${TOKEN}`, "Authorization: Bearer other"];
  await expectAdmitted(url, good, bad);
  await expectRefused(url, "invalid websocket bearer token", bad, good);
});

verifies("auth.header:elsewhere", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  await expectRefused(url, "missing websocket bearer token", `Sec-WebSocket-Protocol: bearer, ${TOKEN}`);
  for (const name of ["token", "access_token"]) {
    const { status, body } = await upgrade(url, [], `/?${name}=${TOKEN}`);
    expect({ status, body }).toEqual({ status: 401, body: "missing websocket bearer token" });
  }
});

verifies("auth.order:readyz", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  expect(await httpRequest(url, "GET", "/readyz")).toMatchObject({ status: 200, body: "" });
  expect(await upgrade(url, ["Authorization: junk"], "/readyz")).toMatchObject({ status: 200, body: "" });
});

verifies("auth.order:origin", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  for (const lines of [[], [`Authorization: Bearer ${TOKEN}`], ["Authorization: junk"]]) {
    const answer = await upgrade(url, ["Origin: http://example.com", ...lines]);
    expect(answer).toMatchObject({ status: 403, body: "" });
  }
});

verifies("auth.order:path", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  expect(await upgrade(url, [], "/x")).toMatchObject({ status: 404, body: "" });
});

verifies("auth.order:upgrade", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  expect(await httpRequest(url, "GET", "/")).toMatchObject({
    status: 400,
    body: "Connection header did not include 'upgrade'",
  });
  expect(await httpRequest(url, "POST", "/")).toMatchObject({
    status: 405,
    body: "Request method must be `GET`",
  });
});

verifies("auth.token:file", async ({ launch }) => {
  await withFiles({ token: " \t\nsome token\n\n" }, async ({ path }) => {
    const server = await launch(["--ws-auth", "capability-token", "--ws-token-file", join(path, "token")]);
    const url = await server.banner();
    await expectAdmitted(url, "Authorization: Bearer some token");
    await expectRefused(url, "invalid websocket bearer token", "Authorization: Bearer some");
  });
});

verifies("auth.token:file-read-once", async ({ launch }) => {
  await withFiles({ token: "old" }, async ({ path }) => {
    const file = join(path, "token");
    const server = await launch(["--ws-auth", "capability-token", "--ws-token-file", file]);
    const url = await server.banner();
    await writeFile(file, "new");
    await expectAdmitted(url, "Authorization: Bearer old");
    await expectRefused(url, "invalid websocket bearer token", "Authorization: Bearer new");
  });
});

verifies("auth.token:relative-file", async ({ launch }) => {
  await withFiles({ "a/token": TOKEN }, async ({ path }) => {
    await mkdir(join(path, "b"));
    const relative = `../../${basename(path)}/./a/token`;
    const server = await launch(["--ws-auth", "capability-token", "--ws-token-file", relative], {
      cwd: join(path, "b"),
    });
    await expectAdmitted(await server.banner(), `Authorization: Bearer ${TOKEN}`);
    const missing = await launch(["--ws-auth", "capability-token", "--ws-token-file", "x/../none"], {
      cwd: path,
    });
    await missing.exited;
    expect(missing.stderr).toContain(` websocket auth secret ${path}/none: `);
  });
});

verifies("auth.token:home-file", async ({ launch }) => {
  await withFiles({ token: TOKEN }, async ({ path }) => {
    const server = await launch(["--ws-auth", "capability-token", "--ws-token-file", "~/token"], {
      env: { HOME: path },
    });
    await expectAdmitted(await server.banner(), `Authorization: Bearer ${TOKEN}`);
  });
});

verifies("auth.token:digest", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  await expectAdmitted(url, `Authorization: Bearer ${TOKEN}`);
  await expectRefused(url, "invalid websocket bearer token", `Authorization: Bearer ${digestOf(TOKEN)}`);
});

verifies("auth.token:digest-spelling", async ({ launch }) => {
  for (const digest of [digestOf(TOKEN).toUpperCase(), ` ${digestOf(TOKEN)} `]) {
    const server = await launch(["--ws-auth", "capability-token", "--ws-token-sha256", digest]);
    await expectAdmitted(await server.banner(), `Authorization: Bearer ${TOKEN}`);
  }
});

verifies("auth.token:wrong", async ({ launch }) => {
  const url = await launchWithDigest(launch);
  for (const token of [TOKEN.toLowerCase(), TOKEN.slice(1), `${TOKEN}x`, `${TOKEN} x`, "x"]) {
    await expectRefused(url, "invalid websocket bearer token", `Authorization: Bearer ${token}`);
  }
});
