import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, type Host, type StartOptions } from "../../src/client/index.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { type Authority, createAuthority } from "../fixtures/certificates.ts";

/** By the name of the secret. */
const SECRETS = {
  FROM_ENV: "k-abcdefghijklmnopqrst",
  FROM_FILE: "f-abcdefghijklmnopqrst",
  FROM_COMMAND: "c-abcdefghijklmnopqrst",
  FROM_HEADER: "h-abcdefghijklmnopqrst",
  FROM_NOWHERE: "",
};
const OWN = "o-abcdefghijklmnopqrst";
const TOKENS = { full: "full-token", some: "some-token", none: "none-token" };
const STAND_IN = /[a-z]-[a-z]{20}/;

let authority: Authority;
let directory: string;
let server: ServerProcess;
let vault: Server;
let url: string;
let other: Server;
let otherUrl: string;
const hosts = new Map<string, Host>();
/** Headers that the secrets' host was sent. */
const sent: (string | undefined)[] = [];
const stolen: (string | undefined)[] = [];

async function listening(seen: (string | undefined)[]): Promise<[Server, string]> {
  const { cert, key } = authority.issue("vault");
  const listener = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    const { authorization, "x-key": own } = request.headers;
    seen.push(authorization ?? String(own));
    response.end(`got ${authorization ?? String(own)}\n`);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return [listener, `https://localhost:${(listener.address() as AddressInfo).port}`];
}

beforeAll(async () => {
  authority = createAuthority();
  directory = mkdtempSync("/var/tmp/exec-server-held-");
  [vault, url] = await listening(sent);
  [other, otherUrl] = await listening(stolen);
  for (const name of ["keys", "bin", "config"]) mkdirSync(at(name));
  writeFileSync(at("keys/file"), `${SECRETS.FROM_FILE}\n`);
  writeFileSync(at("config/command"), `${SECRETS.FROM_COMMAND}\n`);
  writeFileSync(at("config/header"), SECRETS.FROM_HEADER);
  const table = (name: string, rest: string): string =>
    `[[secret]]\nname = "${name}"\nhosts = ["${url}/v1"]\n${rest}\n`;
  writeFileSync(
    at("config/server.toml"),
    [
      table("FROM_ENV", 'from = "env"\nvariable = "THE_KEY"'),
      table("FROM_FILE", `from = "file"\npath = "${at("keys/file")}"`),
      table("FROM_COMMAND", `from = "command"\ncommand = ["/bin/cat", "${at("config/command")}"]`),
      table(
        "of-header",
        `as = "FROM_HEADER"\nfrom = "file"\npath = "${at("config/header")}"\nheader = "X-Key"\nprefix = "Key "`,
      ),
      table("FROM_NOWHERE", 'from = "command"\ncommand = ["/bin/false"]'),
    ].join("\n"),
  );
  const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex");
  const sandboxed = (name: "some" | "none", rest: string): string =>
    `[[token]]\nname = "${name}"\nsha256 = "${sha256(TOKENS[name])}"\n${rest}\n[token.policy]\nwrite = ["/tmp"]\n`;
  writeFileSync(
    at("config/tokens.toml"),
    [
      `[[token]]\nname = "full"\nsha256 = "${sha256(TOKENS.full)}"\npreset = "full"\n`,
      sandboxed(
        "some",
        'preset = "sandboxed"\nsecrets = ["FROM_ENV", "FROM_FILE", "of-header", "FROM_NOWHERE"]',
      ),
      sandboxed("none", 'preset = "sandboxed"'),
    ].join("\n"),
    { mode: 0o600 },
  );
  const args = [
    "--listen",
    "ws://127.0.0.1:0",
    "--config",
    at("config/server.toml"),
    "--ws-auth",
    "token-table",
  ];
  server = await launch(
    "ours",
    [...args, "--ws-token-table", at("config/tokens.toml"), "--audit", at("config/audit.log")],
    {
      env: { SSL_CERT_FILE: authority.ca, THE_KEY: SECRETS.FROM_ENV, COPY_OF_IT: `x${SECRETS.FROM_ENV}y` },
    },
  );
  for (const name of ["full", "some", "none"] as const)
    hosts.set(name, await connect(await server.banner(), { token: TOKENS[name] }));
}, 60_000);

afterAll(async () => {
  for (const host of hosts.values()) await host.close();
  await server.stop();
  for (const each of [vault, other]) {
    each.closeAllConnections();
    each.close();
  }
  authority[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

const at = (name: string): string => join(directory, name);

async function run(who: "full" | "some" | "none", command: string, options: StartOptions): Promise<string> {
  const { stdout, stderr } = await hosts.get(who)!.run(command, { cwd: "/tmp", ...options });
  return stdout + stderr;
}

const curl = (name: string, to = `${url}/v1`): string =>
  name === "FROM_HEADER"
    ? `curl -sS ${to} -H "X-Key: Key $FROM_HEADER"`
    : `curl -sS ${to} -H "Authorization: Bearer $${name}"`;

const confined = { sandbox: "workspace-write" } as const;

describe("a secret of the server", () => {
  it.each([
    ["FROM_ENV", "FROM_ENV"],
    ["FROM_FILE", "FROM_FILE"],
    ["FROM_COMMAND", "FROM_COMMAND"],
    ["of-header", "FROM_HEADER"],
  ] as const)("%s is used and not had", async (name, variable) => {
    const before = sent.length;
    const output = await run("full", `${curl(variable)}; env`, { ...confined, secrets: [name] });
    const prefix = variable === "FROM_HEADER" ? "Key" : "Bearer";
    expect(sent.slice(before)).toEqual([`${prefix} ${SECRETS[variable]}`]);
    expect(output).toContain(`got ${prefix} `);
    for (const secret of Object.values(SECRETS).filter((each) => each !== ""))
      expect(output).not.toContain(secret);
  });

  it("is used without a sandbox, too, where other hosts are reached as before", async () => {
    const output = await run("full", `${curl("FROM_ENV")}; curl -ksS ${otherUrl}/x`, {
      secrets: ["FROM_ENV"],
    });
    expect(output).toMatch(/^got Bearer [a-z]-[a-z]{20}\ngot undefined\n$/);
    expect(output).not.toContain(SECRETS.FROM_ENV);
  });

  it("opens the network of a sandbox to its hosts, and to nothing else", async () => {
    const command = `curl -sS -o /dev/null -w '%{http_code} ' ${url}/v1; curl -sS http://127.0.0.1:1/ https://example.com/`;
    const output = await run("some", command, { secrets: ["FROM_ENV"] });
    expect(output).toMatch(/^200 .*Domain not in allowlist|blocked/s);
    expect(output).toMatch(/CONNECT tunnel failed, response 403/);
    const closed = await run("some", `curl -sS ${url}/v1`, {});
    expect(closed).toMatch(/Couldn't connect|Failed to connect|Could not resolve|Operation not permitted/);
  });

  it("is only for clients whose token names it", async () => {
    await expect(run("none", "true", { secrets: ["FROM_ENV"] })).rejects.toThrow(
      "unknown secret 'FROM_ENV'; this client may use none",
    );
    await expect(run("some", "true", { secrets: ["FROM_COMMAND"] })).rejects.toThrow(
      "unknown secret 'FROM_COMMAND'; this client may use FROM_ENV, FROM_FILE, of-header, FROM_NOWHERE",
    );
  });

  it("goes to no host but its own, whatever the client asks for", async () => {
    for (const wanted of [otherUrl, url, `${url}/v2`, `${url}/v1/../v2`, "*.localhost", "localhost"])
      await expect(run("full", "true", { secrets: [{ name: "FROM_ENV", hosts: [wanted] }] })).rejects.toThrow(
        `the secret FROM_ENV is not for '${wanted}'`,
      );
    const before = sent.length;
    const only = { name: "FROM_ENV", hosts: [`${url}/v1/only`] };
    const command = `${curl("FROM_ENV")}; ${curl("FROM_ENV", `${url}/v1/only`)}; ${curl("FROM_ENV", `${otherUrl}/v1`)}`;
    await run("full", command, { ...confined, secrets: [only], network: { allow: ["localhost"] } });
    const [first, second] = sent.slice(before);
    expect(first).not.toContain(SECRETS.FROM_ENV);
    expect(second).toBe(`Bearer ${SECRETS.FROM_ENV}`);
    expect(stolen.join("\n")).not.toContain(SECRETS.FROM_ENV);
  });

  it("is not what a client calls by its name, nor in what it inherits", async () => {
    const output = await run("full", "env", { env: { FROM_ENV: OWN }, secrets: ["FROM_ENV"] });
    expect(output).not.toContain(OWN);
    const inherited = await hosts.get("full")!.run("env", {
      inheritEnv: "all",
      env: { NOTHING: "1" },
    });
    expect(inherited.stdout).toContain("SSL_CERT_FILE");
    expect(inherited.stdout).not.toContain(SECRETS.FROM_ENV);
  });

  it("is not in a file that a sandbox shows", async () => {
    const output = await run(
      "full",
      `cat ${at("keys/file")} ${at("config/server.toml")}; ls ${at("keys")}`,
      confined,
    );
    expect(output).not.toContain(SECRETS.FROM_FILE);
    expect(output.match(/Permission denied/g)).toHaveLength(3);
  });

  it("has to be readable when the process starts", async () => {
    await expect(run("some", "true", { secrets: ["FROM_NOWHERE"] })).rejects.toThrow(
      "the secret FROM_NOWHERE cannot be read by the server; its log says why",
    );
    expect(server.stderr).toContain("its command /bin/false failed: it ended with status 1");
  });

  it("has a name that is not used twice", async () => {
    const secrets = ["FROM_ENV", "FROM_ENV"];
    await expect(run("full", "true", { secrets })).rejects.toThrow(
      "more than one of the secrets would be in FROM_ENV",
    );
  });
});

describe("a secret that changes", () => {
  it("changes for a process that runs, which has the same stand-in, and an answer has no old one", async () => {
    const next = "f-zyxwvutsrqponmlkjihgfedcba";
    const old = SECRETS.FROM_FILE;
    const process = await hosts
      .get("some")!
      .start(
        'read x; while read to; do curl -sS $to -H "Authorization: Bearer $FROM_FILE" -d @-  < /dev/null; done',
        {
          cwd: "/tmp",
          stdin: "pipe",
          secrets: ["FROM_FILE"],
        },
      );
    let output = "";
    const lines = (async () => {
      for await (const { bytes } of process.output()) output += Buffer.from(bytes).toString();
    })();
    const answers = (): number => output.match(/got Bearer|not available/g)?.length ?? 0;
    const asked = async (): Promise<string | undefined> => {
      const before = { answers: answers(), sent: sent.length };
      await process.write(`${url}/v1\n`);
      await expect.poll(answers, { timeout: 20_000 }).toBeGreaterThan(before.answers);
      return sent[before.sent];
    };
    await process.write("\n");
    expect(await asked()).toBe(`Bearer ${old}`);
    writeFileSync(at("keys/next"), next);
    renameSync(at("keys/next"), at("keys/file"));
    await expect.poll(asked, { timeout: 20_000 }).toBe(`Bearer ${next}`);
    rmSync(at("keys/file"));
    await expect.poll(asked, { timeout: 20_000 }).toBeUndefined();
    expect(output).toContain("the secret of this request is not available");
    writeFileSync(at("keys/file"), old);
    await expect.poll(asked, { timeout: 20_000 }).toBe(`Bearer ${old}`);
    await process.closeStdin();
    await lines;
    expect(output).not.toContain(old);
    expect(output).not.toContain(next);
    expect(output).toMatch(STAND_IN);
  });
});

describe("a secret that the client brings", () => {
  const env = { OWN_KEY: OWN };

  it("is hidden in the same way", async () => {
    const before = sent.length;
    const secrets = [{ name: "OWN_KEY", hosts: [url] }];
    const output = await run("full", `${curl("OWN_KEY")}; env`, { ...confined, env, secrets });
    expect(sent.slice(before)).toEqual([`Bearer ${OWN}`]);
    expect(output).not.toContain(OWN);
  });

  it("needs hosts, a form that can be found again, and a network that the policy allows", async () => {
    await expect(run("full", "true", { env, secrets: ["OWN_KEY"] })).rejects.toThrow(
      "the secret OWN_KEY needs hosts",
    );
    const short = run("full", "true", {
      env: { OWN_KEY: "short" },
      secrets: [{ name: "OWN_KEY", hosts: [url] }],
    });
    await expect(short).rejects.toThrow("the secret OWN_KEY cannot be hidden");
    const closed = run("none", "true", { env, secrets: [{ name: "OWN_KEY", hosts: [url] }] });
    await expect(closed).rejects.toThrow("this client's policy allows no network");
    const bad = run("full", "true", { env, secrets: [{ name: "OWN_KEY", hosts: ["http://example.com"] }] });
    await expect(bad).rejects.toThrow("'http://example.com' is not a host for the secret OWN_KEY");
  });
});

it("leaves names in the audit log, and no secret there, or in what the server prints", () => {
  const audit = readFileSync(at("config/audit.log"), "utf8");
  expect(audit).toContain('"secrets":["FROM_FILE"]');
  for (const text of [audit, server.stdout, server.stderr])
    for (const secret of [...Object.values(SECRETS), OWN].filter((each) => each !== ""))
      expect(text).not.toContain(secret);
});
