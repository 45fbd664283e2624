import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../fault/server-under-test.ts";
import { createAuthority } from "../../fixtures/certificates.ts";
import { type Ended, FreshRoot, quoted } from "./fresh-root.ts";

/** Names of machines in the pages. All of them are this one. */
const NAMES = [
  "build.example",
  "web.example",
  "build.example.com",
  "relay.example",
  "nats-1.example.com",
  "example.com",
];
const REGISTRY_PORT = 4873;

/** Somebody with a machine of their own, the packed program, a certificate, and nothing else. */
export class Reader implements AsyncDisposable {
  static async open(): Promise<Reader> {
    const root = await FreshRoot.open();
    const reader = new Reader(root);
    await reader.do(`printf '127.0.0.1 %s\\n' ${NAMES.join(" ")} >> /etc/hosts`);
    root.provide(packed(), "/opt/registry");
    await reader.do("mv /opt/registry/exec-server-*.tgz .");
    root.provide(fileURLToPath(new URL("registry.mjs", import.meta.url)), "/opt/registry/registry.mjs");
    await root.start(`exec node /opt/registry/registry.mjs /opt/registry ${REGISTRY_PORT}`, /ready/, {
      lasting: true,
    });
    return reader;
  }

  readonly root: FreshRoot;
  /** What a page sets for the commands after it. */
  readonly env: Record<string, string> = {
    npm_config_registry: `http://127.0.0.1:${REGISTRY_PORT}`,
    npm_config_update_notifier: "false",
  };

  private constructor(root: FreshRoot) {
    this.root = root;
  }

  /** Does what a page takes for granted. */
  async do(script: string): Promise<Ended> {
    const ended = await this.root.run(script, { env: this.env });
    if (ended.status !== 0) throw new Error(`${script}\nended with ${ended.status}:\n${ended.output}`);
    return ended;
  }

  /** Installs the program, as the page about operating a server says. */
  async install(): Promise<void> {
    await this.do("npm install --global ./exec-server-*.tgz");
  }

  /** Puts a certificate for all names into a directory, and has every program trust its authority. */
  async certify(directory: string, cert = "cert.pem", key = "key.pem"): Promise<void> {
    using authority = createAuthority();
    const issued = authority.issue("machine", {
      names: [...NAMES.map((name) => `DNS:${name}`), "IP:127.0.0.1"].join(),
      // `doctor` tells readers to renew one that expires soon.
      days: 30,
    });
    await this.do(`mkdir -p ${directory}`);
    for (const [from, to] of [
      [issued.cert, cert],
      [issued.key, key],
      [authority.ca, "ca.pem"],
    ] as const)
      this.root.provide(from, join(directory, to));
    this.root.provide(authority.ca, "/etc/ssl/our-ca.pem");
    await this.do(`chmod 600 ${join(directory, key)}`);
    // As if the authority were one that Node knows.
    this.env["NODE_EXTRA_CA_CERTS"] = "/etc/ssl/our-ca.pem";
  }

  /** A machine that ssh reaches without a password as `ann`, which has the program. */
  async openSsh(name: string, user: string): Promise<void> {
    await this.do(
      `useradd --create-home --shell /bin/bash ${user}
       mkdir -p /run/sshd -m 755; mkdir -m 700 ~/.ssh; ssh-keygen -A; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
       install -d -o ${user} -m 700 ~${user}/.ssh
       install -o ${user} -m 600 ~/.ssh/id_ed25519.pub ~${user}/.ssh/authorized_keys`,
    );
    await this.root.start("/usr/sbin/sshd -D -e", /Server listening/);
    await this.do(`ssh-keyscan ${name} > ~/.ssh/known_hosts; ssh ${user}@${name} exec-server --version`);
  }

  /** A server on a port of this machine that answers every request with a line. */
  async openWeb(port: number): Promise<void> {
    const program = `require("http").createServer((q, a) => a.end("hello\\n")).listen(${port}, () => console.log("up"))`;
    await this.root.start(`node -e ${quoted(program)}`, /up/);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.root[Symbol.asyncDispose]();
  }
}

let packages: string | undefined;

/** A directory with the package of what is built, and those that it needs, made once. */
function packed(): string {
  if (packages !== undefined) return packages;
  const directory = mkdtempSync(join(tmpdir(), "exec-server-packed-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const modules = join(packageRoot, "node_modules");
  const libraries = ["koffi", ...readdirSync(join(modules, "@koromix")).map((name) => `@koromix/${name}`)];
  const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", directory];
  execFileSync("npm", [...pack, packageRoot, ...libraries.map((name) => join(modules, name))], {
    stdio: "pipe",
  });
  packages = directory;
  return directory;
}
