// `npm run bench:secrets`: what it costs that the proxy of a process looks into HTTPS to put secrets in, compared with a
// tunnel that it does not look into, alternating: small requests one after another on one connection, a new connection
// for each, and the rate of a stream. Ratios, and the quartiles of both.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { parseArgs } from "node:util";
import { peerTarget } from "../bench/servers.mjs";
import { inSession } from "../bench/session.mjs";
import { quantile } from "../bench/statistics.mjs";
import { withDeadline } from "../bench/waiting.mjs";

const SECRET = "k-abcdefghijklmnopqrst";
const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    requests: { type: "string", default: "200" },
    connections: { type: "string", default: "20" },
    mebibytes: { type: "string", default: "64" },
  },
});
const [rounds, requests, connections, mebibytes] = Object.values(options).map(Number);
const BYTES = mebibytes * 1024 * 1024;

const UPSTREAM = `
const { readFileSync } = require("node:fs");
const [cert, key] = process.argv.slice(1, 3).map((path) => readFileSync(path));
const big = Buffer.alloc(65536, "some text that is not a secret\\n"), total = Number(process.argv[3]);
const server = require("node:https").createServer({ cert, key }, (request, response) => {
  if (request.url !== "/big") return response.end("ok");
  response.writeHead(200, { "content-length": total });
  let left = total;
  const pump = () => { while (left > 0) { left -= big.length; if (!response.write(big)) return response.once("drain", pump); } response.end(); };
  pump();
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

const directory = mkdtempSync("/var/tmp/exec-server-bench-");
const at = (name) => join(directory, name);
const openssl = (...args) => execFileSync("openssl", args, { stdio: "pipe" });
const EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
const SIGNED = ["-CA", at("ca"), "-CAkey", at("ca.key"), "-addext", "subjectAltName=DNS:localhost"];
openssl("req", "-x509", ...EC, "-keyout", at("ca.key"), "-out", at("ca"), "-subj", "/CN=Bench");
openssl("req", "-x509", ...EC, "-keyout", at("key"), "-out", at("cert"), "-subj", "/CN=localhost", ...SIGNED);
// What the server trusts.
const cli = new URL("../dist/cli.js", import.meta.url).href;
writeFileSync(
  at("server.mjs"),
  `process.env.SSL_CERT_FILE = ${JSON.stringify(at("ca"))};
await import(${JSON.stringify(cli)});
`,
);
const upstream = spawn(process.execPath, ["-e", UPSTREAM, at("cert"), at("key"), String(BYTES)], {
  stdio: ["ignore", "pipe", "inherit"],
});
const [port] = await once(createInterface(upstream.stdout), "line");

/** What a process finds in its environment. `masked` says whether its proxy looks into what it sends upstream. */
async function openProxy(session, masked) {
  const processId = masked ? "masked" : "blind";
  const script = `printf '%s\\n%s\\n%s\\n' "$HTTPS_PROXY" "$SSL_CERT_FILE" "$A_KEY" > ${at(processId)}; mv ${at(processId)} ${at(`${processId}.env`)}; exec sleep 86399`;
  await session.wire.request("process/start", {
    processId,
    argv: ["/bin/sh", "-c", script],
    cwd: "file:///",
    env: {
      PATH: process.env.PATH,
      ...(masked ? { A_KEY: SECRET } : {}),
      ...(masked ? {} : { SSL_CERT_FILE: at("ca") }),
    },
    tty: false,
    ...(masked ? { secrets: [{ name: "A_KEY", hosts: [`https://localhost:${port}`] }] } : {}),
    ...(masked ? {} : { networkProxy: { proxy: PROXY } }),
  });
  const deadline = Date.now() + 20_000;
  for (;;) {
    try {
      const [url, bundle, key] = readFileSync(at(`${processId}.env`), "utf8").split("\n");
      // The certificates that a client sets itself stay: so this looks for the file of the server.
      return { proxy: Number(new URL(url).port), ca: readFileSync(bundle), key };
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

const PROXY = {
  enabled: true,
  enableSocks5: false,
  enableSocks5Udp: false,
  allowUpstreamProxy: false,
  dangerouslyAllowAllUnixSockets: false,
  mode: "full",
  allowLocalBinding: true,
  domains: { "*": "allow" },
};

async function openTunnel({ proxy, ca }) {
  const socket = connect({ port: proxy, host: "127.0.0.1", noDelay: true });
  socket.write(`CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`);
  const [answer] = await once(socket, "data");
  if (!String(answer).startsWith("HTTP/1.1 200")) throw new Error(String(answer));
  const secure = connectTls({ socket, servername: "localhost", ca });
  await once(secure, "secureConnect");
  return secure;
}

/** Resolves when the answer to a request is complete, after `size` bytes of a body. */
function ask(socket, path, key, size) {
  return new Promise((resolve, reject) => {
    let received = 0;
    let body = -1;
    const take = (bytes) => {
      received += bytes.length;
      if (body < 0) {
        const end = bytes.indexOf("\r\n\r\n");
        body = end < 0 ? -1 : end + 4;
      }
      if (body < 0 || received < body + size) return;
      if (received > body + size) reject(new Error(String(bytes)));
      socket.off("error", reject);
      socket.off("data", take);
      resolve();
    };
    socket.on("data", take);
    socket.once("error", reject);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  });
}

const since = (from) => Number(process.hrtime.bigint() - from) / 1e6;

const WORKS = {
  "request on a kept connection, ms": async (way) => {
    way.kept ??= await openTunnel(way);
    const times = [];
    for (let index = 0; index < requests; index += 1) {
      const from = process.hrtime.bigint();
      await ask(way.kept, "/", way.key, 2);
      times.push(since(from));
    }
    return quantile(times, 0.5);
  },
  "request on a new connection, ms": async (way) => {
    const times = [];
    for (let index = 0; index < connections; index += 1) {
      const from = process.hrtime.bigint();
      const socket = await openTunnel(way);
      await ask(socket, "/", way.key, 2);
      times.push(since(from));
      socket.destroy();
    }
    return quantile(times, 0.5);
  },
  "stream, ms": async (way) => {
    const socket = await openTunnel(way);
    const from = process.hrtime.bigint();
    await ask(socket, "/big", way.key, BYTES);
    const ms = since(from);
    socket.destroy();
    return ms;
  },
};

const server = await peerTarget(at("server.mjs")).open("ws");
try {
  await inSession(server, async (session) => {
    const ways = { blind: await openProxy(session, false), inspected: await openProxy(session, true) };
    for (const [name, work] of Object.entries(WORKS)) {
      const measured = { blind: [], inspected: [] };
      const count = name.startsWith("stream") ? Math.ceil(rounds / 4) : rounds;
      for (let round = 0; round < count; round += 1)
        for (const way of round % 2 === 0 ? ["blind", "inspected"] : ["inspected", "blind"])
          measured[way].push(await withDeadline(work(ways[way]), `${name}, ${way}`));
      const [blind, inspected] = [measured.blind, measured.inspected].map((all) => quantile(all, 0.5));
      const shown = [blind, inspected].map((ms) => ms.toFixed(3));
      console.log(
        `${name.padEnd(34)} blind ${shown[0]}  inspected ${shown[1]}  ratio ${(inspected / blind).toFixed(2)}`,
      );
    }
    for (const way of Object.values(ways)) way.kept?.destroy();
  });
} finally {
  await server.stop();
  upstream.kill();
  rmSync(directory, { recursive: true, force: true });
}
