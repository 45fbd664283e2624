import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, type Host } from "../../src/client/index.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { type Authority, createAuthority } from "../fixtures/certificates.ts";

// What docs/guide/secrets.md says programs need. Those that not every machine has are tried with SECRET_TOOLS=all.

const SECRET = "k-abcdefghijklmnopqrst";
const ALL = process.env["SECRET_TOOLS"] === "all";

const PYTHON = {
  urllib: `import os, urllib.request as u; print(u.urlopen(u.Request(os.environ["URL"], headers={"Authorization": "Bearer " + os.environ["A_KEY"]})).read().decode())`,
  requests: `import os, requests; print(requests.get(os.environ["URL"], headers={"Authorization": "Bearer " + os.environ["A_KEY"]}).text)`,
};
const NODE = `fetch(process.env.URL, { headers: { authorization: "Bearer " + process.env.A_KEY } }).then((answer) => answer.text()).then(console.log)`;
const GO = `package main
import ("fmt"; "io"; "net/http"; "net/url"; "os")
func main() {
  // Go uses no proxy for localhost, unless it is told to.
  proxy, _ := url.Parse(os.Getenv("HTTPS_PROXY"))
  http.DefaultTransport.(*http.Transport).Proxy = http.ProxyURL(proxy)
  request, _ := http.NewRequest("GET", os.Getenv("URL"), nil)
  request.Header.Set("Authorization", "Bearer " + os.Getenv("A_KEY"))
  answer, err := http.DefaultClient.Do(request)
  if err != nil { fmt.Println(err); os.Exit(1) }
  body, _ := io.ReadAll(answer.Body)
  fmt.Println(string(body))
}`;
const JAVA = `import java.net.*; import java.net.http.*;
public class Ask { public static void main(String[] args) throws Exception {
  var request = HttpRequest.newBuilder(URI.create(System.getenv("URL"))).header("Authorization", "Bearer " + System.getenv("A_KEY")).build();
  var proxy = URI.create(System.getenv("HTTPS_PROXY"));
  var client = HttpClient.newBuilder().proxy(ProxySelector.of(new InetSocketAddress(proxy.getHost(), proxy.getPort()))).build();
  System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
} }`;
const JAVA_STORE = `tac $SSL_CERT_FILE | sed '/BEGIN/q' | tac > own.pem && keytool -importcert -noprompt -alias own -file own.pem -keystore store -storepass changeit 2> /dev/null`;

const has = (command: string): boolean => {
  try {
    execFileSync("/bin/sh", ["-c", command], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

interface Tool {
  readonly command: string;
  /** Whether this machine has it. */
  readonly here: boolean;
}

const TOOLS: Readonly<Record<string, Tool>> = {
  curl: { command: `curl -sS $URL -H "Authorization: Bearer $A_KEY"`, here: true },
  "git, whose server is none": {
    command: `git -c http.extraHeader="Authorization: Bearer $A_KEY" ls-remote $URL; true`,
    here: true,
  },
  "wget with --ca-certificate": {
    command: `wget -qO- --ca-certificate=$SSL_CERT_FILE --header="Authorization: Bearer $A_KEY" $URL`,
    here: has("command -v wget"),
  },
  "Python's urllib": { command: `python3 -c '${PYTHON.urllib}'`, here: has("command -v python3") },
  "Python's requests": {
    command: `python3 -c '${PYTHON.requests}'`,
    here: has("python3 -c 'import requests'"),
  },
  "Node 24": {
    command: `node -e '${NODE}'`,
    here: ALL || has("node -e 'process.exit(+(parseInt(process.versions.node) < 24))'"),
  },
  Go: { command: "go run ask.go", here: ALL },
  "Java with a proxy and a key store": {
    command: `${JAVA_STORE} && java -Djavax.net.ssl.trustStore=store -Djavax.net.ssl.trustStorePassword=changeit Ask.java`,
    here: ALL,
  },
};

let authority: Authority;
let directory: string;
let server: ServerProcess;
let vault: Server;
let host: Host;
const sent: (string | undefined)[] = [];

beforeAll(async () => {
  authority = createAuthority();
  directory = mkdtempSync("/var/tmp/exec-server-tools-");
  writeFileSync(join(directory, "ask.go"), GO);
  writeFileSync(join(directory, "Ask.java"), JAVA);
  const { cert, key } = authority.issue("vault");
  vault = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    sent.push(request.headers.authorization);
    response.end(`got ${request.headers.authorization}`);
  });
  vault.listen(0, "127.0.0.1");
  await once(vault, "listening");
  server = await launch("ours", ["--listen", "ws://127.0.0.1:0"], { env: { SSL_CERT_FILE: authority.ca } });
  host = await connect(await server.banner());
});

afterAll(async () => {
  await host.close();
  await server.stop();
  vault.closeAllConnections();
  vault.close();
  authority[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

it.each(Object.entries(TOOLS).filter(([, { here }]) => here))(
  "%s sends the secret, and has it nowhere",
  async (_name, { command }) => {
    const url = `https://localhost:${(vault.address() as AddressInfo).port}`;
    const before = sent.length;
    const { stdout, stderr } = await host.run(`${command}; env`, {
      cwd: directory,
      env: { A_KEY: SECRET, URL: url, PATH: process.env["PATH"], HOME: directory },
      secrets: [{ name: "A_KEY", hosts: [url] }],
    });
    // Git asks twice.
    expect([stderr, new Set(sent.slice(before))]).toEqual([
      expect.any(String),
      new Set([`Bearer ${SECRET}`]),
    ]);
    expect(stdout + stderr).not.toContain(SECRET);
  },
  120_000,
);
