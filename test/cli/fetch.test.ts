import { once } from "node:events";
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { startCommand } from "./command.ts";
import { CommandLine } from "./command-line.ts";

let line: CommandLine;
let upstream: Server;
let url: string;
beforeAll(async () => {
  line = await CommandLine.start();
  upstream = createServer((request, response) => {
    response.sendDate = false;
    response.setHeader("connection", "close");
    if (request.url === "/moved") response.writeHead(302, { location: "/here" }).end("moved\n");
    else if (request.url === "/missing") response.writeHead(404).end("missing\n");
    else if (request.url === "/binary") response.end(Buffer.from([0, 255, 128]));
    else if (request.url === "/cut")
      response.writeHead(200, { "content-length": 100 }).write("begin", () => response.destroy());
    else if (request.url === "/silent") response.writeHead(200, { "content-length": 100 }).write("begin");
    else {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => (body += text));
      request.on("end", () => {
        const { "x-name": name = "", "content-type": type = "" } = request.headers;
        response.end(`${request.method} ${request.url} ${String(name)} ${type} ${body}\n`);
      });
    }
  }).listen(0, "127.0.0.1");
  await once(upstream, "listening");
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
afterAll(async () => {
  upstream?.close();
  upstream?.closeAllConnections();
  await line?.[Symbol.asyncDispose]();
});

const ok = (stdout: string) => ({ status: 0, stdout, stderr: "" });

test.concurrent("fetch prints the body", async () => {
  expect(await line.run(`exec-server fetch ${url}/x`)).toEqual(ok("GET /x   \n"));
});

test.concurrent("fetch sends a method, headers and a body", async () => {
  expect(await line.run(`exec-server fetch --header 'X-Name: a: b' -d q=1 ${url}/x`)).toEqual(
    ok("POST /x a: b application/x-www-form-urlencoded q=1\n"),
  );
  expect(
    await line.run(`exec-server fetch -X put --header 'content-type: text/plain' -d @- ${url}/x`, {
      input: "from stdin",
    }),
  ).toEqual(ok("PUT /x  text/plain from stdin\n"));
});

test.concurrent("fetch follows redirects with --location only", async () => {
  expect(await line.run(`exec-server fetch ${url}/moved`)).toEqual(ok("moved\n"));
  expect(await line.run(`exec-server fetch -L ${url}/moved`)).toEqual(ok("GET /here   \n"));
});

test.concurrent("fetch --include and --head print status and headers", async () => {
  const head = "HTTP 302\nconnection: close\nlocation: /here\n";
  expect((await line.run(`exec-server fetch -i ${url}/moved`)).stdout).toMatch(
    /^HTTP 302\nconnection: close\nlocation: \/here\n(transfer-encoding: chunked\n)?\nmoved\n$/,
  );
  expect((await line.run(`exec-server fetch -I ${url}/moved`)).stdout).toBe(`${head}\n`);
});

test.concurrent("a status of 400 or more is an answer, and with --fail the exit code 22", async () => {
  expect(await line.run(`exec-server fetch ${url}/missing`)).toEqual(ok("missing\n"));
  expect(await line.run(`exec-server fetch --fail ${url}/missing`)).toEqual({
    status: 22,
    stdout: "",
    stderr: `exec-server: ${url}/missing: the response has status 404\n`,
  });
});

test.concurrent("fetch --output writes a file here", async () => {
  expect(await line.run(`exec-server fetch -o body ${url}/binary`)).toEqual(ok(""));
  expect([...(await readFile(join(line.directory, "body")))]).toEqual([0, 255, 128]);
});

test.concurrent("fetch --output replaces a file only with a whole body, and leaves nothing else", async () => {
  const directory = join(line.directory, "outputs");
  const shown = async () => ({
    names: (await readdir(directory)).toSorted(),
    kept: await readFile(join(directory, "kept"), "utf8"),
    mode: ((await stat(join(directory, "kept"))).mode & 0o777).toString(8),
  });
  await line.run("mkdir outputs; echo old > outputs/kept; chmod 640 outputs/kept; ln -s kept outputs/link");
  const before = { names: ["kept", "link"], kept: "old\n", mode: "640" };
  expect((await line.run(`exec-server fetch -o outputs/kept ${url}/cut`)).status).toBe(1);
  expect(await shown()).toEqual(before);
  const { environment: env } = line;
  const slow = startCommand(["fetch", "-o", "outputs/kept", `${url}/silent`], { env, cwd: line.directory });
  await pollUntil(
    async () => (await readdir(directory)).length === 3,
    60_000,
    () => "an unfinished file",
  );
  slow.child.kill("SIGINT");
  expect(await slow.ended()).toMatchObject({ signal: "SIGINT", stderr: "exec-server: interrupted\n" });
  expect(await shown()).toEqual(before);
  expect(await line.run(`exec-server fetch -o outputs/link ${url}/x`)).toEqual(ok(""));
  expect(await shown()).toEqual({ ...before, kept: "GET /x   \n" });
  expect((await lstat(join(directory, "link"))).isSymbolicLink()).toBe(true);
  expect(await line.run(`exec-server fetch -o /dev/stdout ${url}/x | cat`)).toEqual(ok("GET /x   \n"));
});

test.concurrent("fetch --json holds text or base64", async () => {
  const { stdout } = await line.run(`exec-server fetch --json ${url}/binary`);
  expect(JSON.parse(stdout)).toMatchObject({ status: 200, bodyBase64: "AP+A" });
  expect(JSON.parse((await line.run(`exec-server fetch --json ${url}/x`)).stdout)).toMatchObject({
    body: "GET /x   \n",
  });
});

test.concurrent("a body that is cut off is an error after what has arrived", async () => {
  const { status, stdout, stderr } = await line.run(`exec-server fetch ${url}/cut`);
  expect({ status, stdout }).toEqual({ status: 1, stdout: "begin" });
  expect(stderr).toMatch(/^exec-server: http:.*\/cut: [^\n]+\n$/);
});

test.concurrent.each([
  ["nope", 2, "'nope' is not a URL; use one that begins with http:// or https://"],
  ["ftp://x/", 2, "'ftp://x/' is not a URL; use one that begins with http:// or https://"],
  ["http://a:b@127.0.0.1/", 2, "a URL cannot contain a password; use --header 'Authorization: …'"],
  ["http://127.0.0.1:1/", 1, "http://127.0.0.1:1/: connection refused; is something listening there?"],
  ["-H 'X-Name: v' http://127.0.0.1:1/", 2, "-H names a host; pass the header with --header 'X-Name: v'"],
  ["--header bad http://127.0.0.1:1/", 2, "'bad' is not a header; write 'Name: value'"],
  ["--header 'a b: c' http://127.0.0.1:1/", 2, "'a b: c' is not a header; write 'Name: value'"],
  ["-d @nope http://127.0.0.1:1/", 1, "cannot read nope: No such file or directory (os error 2)"],
  [
    "-X GET -d x http://127.0.0.1:1/",
    2,
    "GET sends no body; leave --data out, or use another method with --request",
  ],
  ["-I -d x http://127.0.0.1:1/", 2, "--head sends no body; leave --data or --head out"],
])("fetch %s ends with %d: %s", async (args, status, message) => {
  expect(await line.run(`exec-server fetch ${args}`)).toEqual({
    status,
    stdout: "",
    stderr: `exec-server: ${message}\n`,
  });
});

test.concurrent("fetch says why the file takes nothing", async () => {
  expect(await line.run(`exec-server fetch -o nope/x ${url}/`)).toEqual({
    status: 1,
    stdout: "",
    stderr: "exec-server: cannot write nope/x: No such file or directory (os error 2)\n",
  });
  expect((await line.run(`exec-server fetch -o /dev/full ${url}/`)).stderr).toBe(
    "exec-server: cannot write /dev/full: No space left on device (os error 28)\n",
  );
});
