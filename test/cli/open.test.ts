import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { socketUrl } from "../../src/base/socket-url.ts";
import { connect } from "../../src/client/host/connect.ts";
import { attach } from "../../src/server/serve/attach.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { launch } from "../conformance/server-process.ts";
import { browse, openPageClient, pageStatus, signIn, tokenOf, trade } from "../access/console-browser.ts";
import { askFor, PreviewBrowser, startApp } from "../access/preview-browser.ts";
import { freePort } from "../fixtures/free-port.ts";
import { startCommand, type RunningCommand } from "./command.ts";
import { Person } from "./person.ts";
import { Tmux } from "./tmux.ts";

const SERVING = "serving the web console on this machine";

/** Waits for the page that a command serves itself, and returns its link and the URL of its WebSocket. */
async function served(command: RunningCommand): Promise<{ link: string; url: string }> {
  await command.complains(SERVING);
  const link = command.stdout.trim();
  return { link, url: new URL(link).origin.replace("http", "ws") };
}

it("prints a link to a server that listens on a port, which works once", async () => {
  await using person = new Person();
  const server = await launch("ours", []);
  try {
    const url = await server.banner();
    const { status, stdout, stderr } = await person.run(["open", "--print", "--url", url]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^${url.replace("ws", "http")}/#link=[\\w-]{43}\n$`));
    const secret = await signIn(url, stdout.trim());
    expect(await pageStatus(url, secret)).toBe(101);
    expect((await trade(url, { token: tokenOf(stdout.trim()) })).status).toBe(410);
    // The key of the sessions is the user's alone, in a home that was empty.
    const again = await person.run(["open", "--print"], { env: { EXEC_SERVER_URL: url } });
    expect(again.stdout).not.toBe(stdout);
  } finally {
    await server.stop();
  }
});

it("opens a browser, and says the link if there is none", async () => {
  await using person = new Person();
  const server = await launch("ours", []);
  try {
    const url = await server.banner();
    const bin = join(person.home, "bin");
    const opened = join(person.home, "opened");
    const browser = `#!/bin/sh\necho "$1" > ${opened}\n`;
    mkdirSync(bin);
    writeFileSync(join(bin, "xdg-open"), browser, { mode: 0o755 });
    const PATH = `${bin}:/usr/bin:/bin`;
    const found = await person.run(["open", "--url", url], { env: { PATH, DISPLAY: ":0" } });
    expect(found).toMatchObject({
      status: 0,
      stdout: "",
      stderr: expect.stringContaining("opened the web console"),
    });
    expect(await signIn(url, readFileSync(opened, "utf8").trim())).toMatch(/^esc1_/);
    writeFileSync(join(bin, "xdg-open"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    for (const env of [{ PATH, DISPLAY: ":0" }, { PATH }])
      expect(await person.run(["open", "--url", url], { env })).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(
          /^No browser was found here\. Open this link in one:\nhttp:\S+#link=\S{43}\n$/,
        ),
      });
  } finally {
    await server.stop();
  }
});

it("serves the page itself for the user's own server, until it is interrupted", async () => {
  await using person = new Person();
  const command = startCommand(["open", "--print"], { cwd: person.home, env: person.env });
  const { link, url } = await served(command);
  expect((await browse(url, "/p", { headers: { accept: "text/html" } })).headers).toHaveProperty(
    "content-security-policy",
  );
  expect(await pageStatus(url, undefined)).toBe(403);
  const secret = await signIn(url, link);
  await using page = await openPageClient(url, secret);
  const { result } = await page.call("server/status", null);
  expect(result).toMatchObject({ pid: (await person.server()).pid });
  // Programs have other ways.
  expect(await pageStatus(url, secret, { origin: "http://evil.example" })).toBe(403);
  command.child.kill("SIGINT");
  expect(await command.ended()).toMatchObject({ status: 0, signal: null });
  await page.closed;
  expect((await person.server()).pid).toBe(result?.["pid"]);
});

it("opens ports of what runs on the user's own server, each on an origin of its own", async () => {
  await using person = new Person();
  const command = startCommand(["open", "--print"], { cwd: person.home, env: person.env });
  const { link, url } = await served(command);
  const secret = await signIn(url, link);
  await using host = await connect(socketUrl(person.socket));
  const port = await startApp(host);
  const browser = await PreviewBrowser.open(url, secret, port);
  expect((await browser.get("/a")).json()).toMatchObject({ method: "GET", url: "/a" });
  const connected = await browser.socket();
  if (typeof connected === "number") throw new Error(`answered ${connected}`);
  expect((await browser.another().get("/a")).status).toBe(403);
  expect((await askFor(url, undefined, { port, host: "127.0.0.1" })).status).toBe(401);
  const ended = once(connected.socket, "close");
  command.child.kill("SIGINT");
  expect(await command.ended()).toMatchObject({ status: 0 });
  await ended;
});

it("prints another link when Enter is pressed, on a port of one's choice", async () => {
  await using person = new Person();
  await using tmux = await Tmux.start();
  const port = await freePort();
  const args = [process.execPath, builtCli, "open", "--print", "--port", `${port}`];
  const terminal = await tmux.open(args, { env: person.env, columns: 160 });
  await terminal.shows("Enter prints another link, Ctrl-C stops that");
  await terminal.press("Enter");
  await terminal.shows(/#link=[^]*#link=/);
  const links = [...(await terminal.history()).matchAll(/http:\S+#link=\S{43}/g)].map(([link]) => link);
  const url = `ws://127.0.0.1:${port}`;
  for (const link of links) expect(await signIn(url, link)).toMatch(/^esc1_/);
  expect(new Set(links).size).toBe(2);
  const wrong = await trade(url, { token: "x".repeat(43) });
  expect(wrong.status).toBe(401);
  await terminal.shows("console: this link is from another server");
  expect(await person.run(["open", "--print", "--port", `${port}`])).toMatchObject({
    status: 1,
    stderr: `exec-server: cannot serve the web console on port ${port}: Address in use (os error 98)\n`,
  });
  await terminal.press("C-c");
  expect(await terminal.status()).toBe(0);
  // A background job reads no keys, or it would be stopped.
  const shell = await tmux.open(["bash", "--norc", "-i"], {
    env: { ...person.env, PS1: "$ " },
    columns: 160,
  });
  await shell.enter(`${process.execPath} ${builtCli} open --print &`);
  await shell.shows("serving the web console on this machine; Ctrl-C stops that");
  await shell.enter("jobs");
  await shell.shows("Running");
  await shell.enter("kill %1; wait; echo over");
  await shell.shows(/^over$/m);
});

it("does not take --port for a server that serves its own page", async () => {
  await using person = new Person();
  const server = await launch("ours", []);
  try {
    const args = ["open", "--port", "7000", "--url", await server.banner()];
    expect(await person.run(args)).toMatchObject({
      status: 2,
      stderr: "exec-server: --port is for a page that this command serves; this server serves its own\n",
    });
  } finally {
    await server.stop();
  }
});

it("serves the page itself for a server that has none", async () => {
  await using person = new Person();
  const server = await launch("ours", ["--no-console"]);
  try {
    const command = startCommand(["open", "--print", "--url", await server.banner()], { env: person.env });
    const { link, url } = await served(command);
    await using page = await openPageClient(url, await signIn(url, link));
    expect(await page.call("server/status", null)).toMatchObject({ result: { pid: server.child.pid } });
    // A server that is gone takes the connections of its pages along.
    await server.stop();
    await page.closed;
    command.child.kill("SIGTERM");
    expect(await command.ended()).toMatchObject({ status: 0 });
  } finally {
    await server.stop();
  }
});

it("serves the page itself for a server that is attached to the HTTP server of another program", async () => {
  await using person = new Person();
  const http = createServer((_request, response) => response.end("the rest of the program\n"));
  await once(http.listen(0, "127.0.0.1"), "listening");
  const token = "a-token-for-everything";
  const tokenSha256 = createHash("sha256").update(token).digest();
  await using _attached = attach(http, {
    path: "/exec",
    authentication: { mode: "capability-token", tokenSha256 },
    environment: process.env,
  });
  try {
    const { port } = http.address() as AddressInfo;
    const command = startCommand(["open", "--print", "--url", `ws://127.0.0.1:${port}/exec`], {
      env: { ...person.env, EXEC_SERVER_TOKEN: token },
    });
    const { link, url } = await served(command);
    await using page = await openPageClient(url, await signIn(url, link));
    expect(await page.call("server/status", null)).toMatchObject({ result: { pid: process.pid } });
    command.child.kill("SIGTERM");
    expect(await command.ended()).toMatchObject({ status: 0 });
  } finally {
    http.close();
  }
});

it("says in one line that there is no server", async () => {
  await using person = new Person();
  const { status, stderr } = await person.run(["open", "--url", "ws://127.0.0.1:1"]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^exec-server: .*is the server running there\?\n$/);
});
