import { createHash } from "node:crypto";
import { packageRoot } from "../../fault/server-under-test.ts";
import { fileInPage } from "./blocks.ts";
import type { Reader } from "./reader.ts";

interface Around {
  readonly before?: (reader: Reader) => Promise<void>;
  readonly after?: (reader: Reader) => Promise<void>;
}

/** It is run to its end, which must be good. */
export interface Runs extends Around {
  readonly prints?: RegExp;
  /** On a terminal. */
  readonly typed?: string;
}

/** How a block is followed. */
export type How =
  | Runs
  /** The last command stays, and says this when it is ready. */
  | ({ readonly stays: RegExp } & Around)
  /** Each line on its own. */
  | ({ readonly lines: readonly How[] } & Around)
  /** Why it is not. */
  | { readonly skip: string };

interface Page {
  /** What a reader of this page has to bring. */
  readonly before: (reader: Reader) => Promise<void>;
  /** In the order of the page. */
  readonly blocks: readonly How[];
}

const NOTHING = async (): Promise<void> => {};
const MODEL: How = {
  skip: "asks a language model that costs money; test/cli runs the command with a scripted one",
};
const CODEX: How = { skip: "runs the real Codex, which test/e2e and test/relay do" };
const THREE_NODES: How = {
  skip: "needs three machines; test/fleet/guide.test.ts gives each an address of its own",
};
const stop = (reader: Reader): Promise<void> => reader.root.stop();
const install = (reader: Reader): Promise<void> => reader.install();

/** NATS and an executor on this machine, as the page about fleets begins. */
async function openFleet(reader: Reader): Promise<void> {
  await reader.do("mkdir -p /etc/exec-server; openssl rand -hex 32 > /etc/exec-server/token");
  await reader.root.start("nats-server --addr 127.0.0.1 --port 4222", /Server is ready/);
  const login = "--ws-auth capability-token --ws-token-file /etc/exec-server/token";
  for (const id of ["web-1", "web-2"])
    await reader.root.start(
      `exec-server serve --fleet nats://127.0.0.1:4222 --id ${id} --label zone=eu --listen none ${login}`,
      new RegExp(`fleet:${id}`),
      { env: reader.env },
    );
  await reader.do("exec-server fleet add prod nats://127.0.0.1:4222 --token-file /etc/exec-server/token");
}

/** A token table of the page, with the digests of tokens that are there. */
function relayTable(tokens: readonly string[]): string {
  let next = 0;
  return fileInPage("docs/guide/relay.md", "# relay.toml").replaceAll(
    '"…"',
    () => `"${createHash("sha256").update(tokens[next++]!).digest("hex")}"`,
  );
}

export const PAGES: Readonly<Record<string, Page>> = {
  "README.md": {
    before: async (reader) => {
      await reader.install();
      await openFleet(reader);
      await reader.openSsh("build.example", "ann");
      await reader.openWeb(8081);
      await reader.do(
        `mkdir src; echo hello > src/file; install -d -o ann /srv/app
         printf 'url\\nhttp://127.0.0.1:8081/a\\nhttp://127.0.0.1:8081/b\\n' > urls.csv`,
      );
    },
    blocks: [
      { skip: "installs from the registry and builds for a minute; test/e2e/package.test.ts does both" },
      {
        lines: [
          { prints: /^Linux / },
          { prints: /^web$/m },
          { prints: /^web +running/m },
          {},
          {},
          {},
          {
            stays: /the same|copied/,
            after: (reader) => reader.do("test -f /srv/app/src/file && test -f /srv/app/file").then(),
          },
          { prints: /2 completed/ },
          { prints: /load average/ },
        ],
      },
      { skip: "builds the program for a minute; `open` is played on the page of the command line" },
      CODEX,
      { stays: /wss:\/\//, before: (reader) => reader.certify("/root") },
    ],
  },
  "docs/guide/access.md": {
    before: async (reader) => {
      await reader.install();
      await reader.certify("/etc/exec-server");
      await reader.do("mkdir /srv/build");
    },
    blocks: [{ stays: /wss:\/\// }],
  },
  "docs/guide/agent.md": { before: NOTHING, blocks: [MODEL] },
  "docs/guide/agents.md": {
    before: async (reader) => {
      await reader.install();
      reader.root.provide(`${packageRoot}/test/fixtures/scripted-model.mjs`, "/root/scripted-model.mjs");
      await reader.do("mkdir -p test/fixtures; mv scripted-model.mjs test/fixtures");
    },
    blocks: [MODEL, { prints: /tokens: 8\b/ }],
  },
  "docs/guide/mcp.md": {
    before: async (reader) => {
      await reader.install();
      await reader.do("mkdir -p ~/src/app");
    },
    blocks: [
      { prints: /Claude Code has the server 'exec-server' in \/\S+\/src\/app\/\.mcp\.json/ },
      { skip: "needs another machine; test/cli/mcp-attacked.test.ts reaches one by its URL" },
      { stays: /ws:\/\/127\.0\.0\.1:7070/ },
    ],
  },
  "docs/guide/durable.md": {
    before: NOTHING,
    blocks: [
      { skip: "leaves out options, and never ends; test/fault/durable.test.ts runs such servers" },
      { skip: "shows what the last one prints; test/fault/durable.test.ts reads it" },
      { skip: "needs a build that has run for a day; test/fault/durable-spool.test.ts reads such output" },
      { skip: "needs a systemd that passes sockets; `npm run test:systemd` runs these units" },
    ],
  },
  "docs/guide/fleet.md": {
    before: async (reader) => {
      await reader.install();
      await reader.certify("/etc/nats");
    },
    blocks: [
      { stays: /Server is ready/ },
      {},
      { stays: /fleet:web-1/ },
      { prints: /web-1 +ready[^]*hello from web-1/, after: stop },
      {},
      { stays: /Server is ready/ },
      {},
      { stays: /fleet:web-1/ },
      { prints: /web-1 +ready[^]*hello from far away/ },
      THREE_NODES,
      THREE_NODES,
      THREE_NODES,
      THREE_NODES,
      THREE_NODES,
      {
        before: async (reader) => {
          await reader.root.stop();
          await reader.root.start("nats-server --config /etc/nats/fleet.conf", /Server is ready/);
          // The page about operating a server comes first.
          await reader.do(
            `cd "$(npm root --global)/exec-server/deploy/systemd"
             install -m 644 exec-server.service /etc/systemd/system/
             install -m 644 exec-server.sysusers /usr/lib/sysusers.d/exec-server.conf && systemd-sysusers
             touch /etc/exec-server/config.toml; chgrp exec-server /etc/exec-server`,
          );
        },
      },
      { prints: /hello from the service/ },
      {
        before: async (reader) => {
          await reader.do("systemctl stop exec-server; exec-server fleet remove prod");
          await reader.root.stop();
          await openFleet(reader);
        },
        lines: [
          { prints: /web-1 +ready/ },
          { prints: /"name": "prod\/web-1"/ },
          { stays: /prod\/web-1 +there/ },
          { prints: /load average/ },
          { prints: /gets no new work/ },
          { prints: /nothing is running/ },
          { prints: /nothing is running/ },
        ],
      },
      { skip: "its output is that of four machines; test/cli/run-on-fleet.test.ts has it" },
    ],
  },
  "docs/guide/metrics.md": {
    before: install,
    blocks: [{ stays: /ws:\/\/127/ }, { prints: /exec_server_connections/ }],
  },
  "docs/guide/operate.md": {
    before: (reader) => reader.certify("/etc/exec-server"),
    blocks: [
      {
        prints: /listening|exec-server/,
      },
      { skip: "opens an editor; the drop-in of the page about fleets is such a change" },
      { skip: "needs Docker" },
      {
        before: async (reader) => {
          await reader.do("systemctl stop exec-server");
          reader.root.write(
            "/etc/exec-server/config.toml",
            fileInPage("docs/guide/operate.md", "# /etc/exec-server/config.toml"),
          );
        },
        stays: /wss:\/\//,
      },
      { prints: /^ok +address[^]*^ok +certificate[^]*^ok +file/m },
    ],
  },
  "docs/guide/recipes.md": {
    before: NOTHING,
    blocks: [
      {
        skip: "gets esbuild from the registry, and needs a browser; test/client/browser-bundle.test.ts has both",
      },
    ],
  },
  "docs/guide/relay.md": {
    before: install,
    blocks: [
      { stays: /http:\/\/127\.0\.0\.1:7600/ },
      { stays: /relay:build-1/ },
      { typed: "yes\n", prints: /Linux/, after: stop },
      {
        before: async (reader) => {
          await reader.certify("/root");
          reader.root.write("/root/relay.toml", relayTable(["a-token-for-machines", "a-token-for-ann"]));
          await reader.do("chmod 600 relay.toml; echo a-token-for-machines > token");
        },
        stays: /https:\/\//,
        after: stop,
      },
      {
        before: async (reader) => {
          await reader.do(
            "mkdir /etc/exec-server-relay; cp relay.toml cert.pem key.pem /etc/exec-server-relay",
          );
        },
      },
      { stays: /relay:build-1/ },
      {
        // The client is another machine, with a token of its own, and has nobody to ask for the key.
        before: (reader) => reader.do("echo a-token-for-ann > token").then(),
        typed: "yes\n",
        prints: /Linux/,
      },
      {
        before: async ({ root, env }) => {
          await root.stop();
          await root.start("exec-server relay --listen http://127.0.0.1:7600", /http/, { env });
          await root.start("exec-server --listen ws://127.0.0.1:7070", /ws:/, { env });
        },
        stays: /relay:build-1/,
      },
      CODEX,
      CODEX,
    ],
  },
  "docs/guide/rows.md": {
    before: async (reader) => {
      await reader.install();
      await reader.openWeb(8081);
      await reader.do("printf 'url\\nhttp://127.0.0.1:8081/a\\nhttp://127.0.0.1:8081/b\\n' > urls.csv");
    },
    blocks: [
      { prints: /2 completed/ },
      MODEL,
      { skip: "needs machines with the labels of the example; test/cli/map-on-fleet.test.ts has such" },
    ],
  },
  "docs/guide/sandbox.md": {
    before: async (reader) => {
      await reader.install();
      await reader.do("mkdir /srv/work");
    },
    blocks: [{ stays: /ws:\/\/127/ }, { prints: /The sandbox works here/ }, { prints: /\/srv\/work/ }],
  },
  "docs/guide/secrets.md": {
    before: async (reader) => {
      await reader.install();
    },
    blocks: [
      {},
      { stays: /ws:\/\/127\.0\.0\.1:7070/ },
      { prints: /^sk-proj-[0-9]{10}[a-z]{16}$/m },
      { skip: "releases something of yours" },
    ],
  },
  "docs/guide/security.md": {
    before: async (reader) => {
      await reader.install();
      await reader.certify("/root");
    },
    blocks: [{ stays: /wss:\/\//, after: stop }, { stays: /wss:\/\// }],
  },
  "docs/guide/tls.md": {
    before: async (reader) => {
      await reader.install();
      await reader.certify("/root", "fullchain.pem", "privkey.pem");
      await reader.do("openssl rand -hex 32 > token; chmod 600 token");
    },
    blocks: [{ stays: /wss:\/\// }],
  },
  "docs/guide/where-commands-run.md": {
    before: async (reader) => {
      await reader.install();
      await openFleet(reader);
      await reader.certify("/root");
      await reader.do("openssl rand -hex 32 > build.token; printf 'all:\\n\\techo made\\n' > Makefile");
      reader.env["EDITOR"] = "true";
      await reader.root.start(
        "exec-server --listen wss://0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --public-url wss://build.example:8443 --ws-auth capability-token --ws-token-file build.token",
        /wss:\/\//,
        { env: reader.env },
      );
    },
    blocks: [
      {
        lines: [
          {},
          {},
          {},
          { prints: /made/ },
          { prints: /build +yes/ },
          { skip: "needs another machine; test/cli/reach has one" },
          {},
          {},
          {},
        ],
      },
      {
        lines: [{ prints: /web-1/ }, { stays: /there/ }, { prints: /gets new work again/ }],
      },
    ],
  },
};
