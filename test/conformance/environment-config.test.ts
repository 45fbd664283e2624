import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { withFiles } from "./process-events.ts";
import { openWebSocketPeer, type RawPeer } from "./raw-peer.ts";
import { expectError, type VerifyContext, verifies } from "./verifies.ts";

const READ = "environmentConfig/read";
const VALID = { cwd: "file:///", configPaths: [["model"]], requirementsPaths: [] };
const EMPTY_STACK = { layers: [], cloudInsertionIndex: 0 };

interface Layer {
  source: string;
  baseDir: string;
  toml: string;
}

interface ConfigContext {
  peer: RawPeer;
  /** The server's CODEX_HOME, which is its home directory too, and its path as a URI. */
  home: { path: string; uri: string };
  /** The layers of the configuration for these key paths. */
  layers: (paths: string[][], cwd?: string) => Promise<Layer[]>;
  /** The same without what they come from. */
  toml: (paths: string[][], cwd?: string) => Promise<string[]>;
}

/** The body of a test on a server in whose home these files lie. */
function inHome(
  files: Record<string, string>,
  body: (context: ConfigContext) => Promise<void>,
  env: (home: string) => Record<string, string> = (home) => ({ CODEX_HOME: home }),
) {
  return async ({ launch }: VerifyContext) =>
    withFiles(files, async (home) => {
      const server = await launch([], { env: { HOME: home.path, ...env(home.path) } });
      const peer = await openWebSocketPeer(await server.banner());
      try {
        await peer.handshake();
        const layers: ConfigContext["layers"] = async (configPaths, cwd = "file:///") =>
          (await peer.request(READ, { cwd, configPaths, requirementsPaths: [] })).config.layers;
        const toml: ConfigContext["toml"] = async (paths, cwd) =>
          (await layers(paths, cwd)).map((layer) => layer.toml);
        await body({ peer, home, layers, toml });
      } finally {
        peer.drop();
      }
    });
}

verifies("config.read:required-members", async ({ peer }) => {
  const connection = await peer();
  for (const member of ["cwd", "configPaths", "requirementsPaths"]) {
    const params = Object.fromEntries(Object.entries(VALID).filter(([name]) => name !== member));
    await expectError(connection.request(READ, params), -32602, `missing field \`${member}\``);
  }
  await expectError(connection.request(READ, null), -32602);
});

verifies("config.read:member-types", async ({ peer }) => {
  const connection = await peer();
  for (const params of [
    { cwd: null },
    { cwd: 1 },
    { configPaths: null },
    { configPaths: "model" },
    { configPaths: ["model"] },
    { configPaths: [[1]] },
    { requirementsPaths: null },
    { requirementsPaths: [null] },
  ]) {
    await expectError(connection.request(READ, { ...VALID, ...params }), -32602, /^invalid type: /);
  }
});

verifies("config.read:unknown-members", async ({ peer }) => {
  const connection = await peer();
  const result = await connection.request(READ, { ...VALID, more: 1 });
  expect(result).toEqual(await connection.request(READ, VALID));
});

verifies("config.read:no-path", async ({ peer }) => {
  const connection = await peer();
  await expectError(
    connection.request(READ, { ...VALID, configPaths: [] }),
    -32602,
    "at least one config or requirements path is required",
  );
  const result = await connection.request(READ, { ...VALID, configPaths: [], requirementsPaths: [["x"]] });
  expect(result.config).toMatchObject({ layers: [] });
});

verifies("config.read:empty-path", async ({ peer }) => {
  const connection = await peer();
  for (const paths of [
    { configPaths: [[]] },
    { configPaths: [["model"], []] },
    { requirementsPaths: [[]] },
    { configPaths: [], requirementsPaths: [[]] },
  ]) {
    await expectError(
      connection.request(READ, { ...VALID, ...paths }),
      -32602,
      "TOML paths must contain at least one key segment",
    );
  }
});

verifies("config.read:cwd", async ({ peer }) => {
  const connection = await peer();
  const at = (cwd: string, configPaths = [["model"]]) =>
    connection.request(READ, { ...VALID, cwd, configPaths });
  await expectError(at("x"), -32602, "invalid URI: relative URL without a base");
  await expectError(at("file:///x?y"), -32602, "query parameters are not allowed in path URIs");
  await expectError(at("file://h/x"), -32602, "'file://h/x' is invalid on 'linux'");
  await expectError(at("file://h/x", []), -32602, "at least one config or requirements path is required");
});

verifies(
  "config.read:result",
  inHome({ "config.toml": 'model = "m"\n' }, async ({ peer, home }) => {
    expect(await peer.request(READ, { ...VALID, requirementsPaths: [["x"]] })).toEqual({
      userHomeDir: home.uri,
      codexHomeDir: home.uri,
      hostname: hostname(),
      config: {
        layers: [{ source: `user (${home.path}/config.toml)`, baseDir: home.uri, toml: 'model = "m"\n' }],
        cloudInsertionIndex: 0,
      },
      requirements: EMPTY_STACK,
    });
  }),
);

verifies(
  "config.read:no-file",
  inHome({}, async ({ peer, home }) => {
    const nothing = { config: EMPTY_STACK, requirements: EMPTY_STACK };
    expect(await peer.request(READ, VALID)).toMatchObject(nothing);
    await writeFile(join(home.path, "config.toml"), "");
    expect(await peer.request(READ, VALID)).toMatchObject(nothing);
  }),
);

verifies(
  "config.read:user-layer",
  inHome(
    { "codex/config.toml": 'model = "m"\n', "config.toml": 'model = "not this"\n' },
    async ({ layers, home }) => {
      expect(await layers([["model"]])).toEqual([
        {
          source: `user (${home.path}/codex/config.toml)`,
          baseDir: `${home.uri}/codex`,
          toml: 'model = "m"\n',
        },
      ]);
    },
    (home) => ({ CODEX_HOME: join(home, "codex") }),
  ),
);

verifies("config.read:default-home", async (context) => {
  for (const env of [{ CODEX_HOME: "" }, { CODEX_HOME: undefined as unknown as string }]) {
    const body = async ({ peer, home, toml }: ConfigContext) => {
      expect(await peer.request(READ, VALID)).toMatchObject({
        userHomeDir: home.uri,
        codexHomeDir: `${home.uri}/.codex`,
      });
      expect(await toml([["model"]])).toEqual(['model = "dot"\n']);
      await rm(join(home.path, ".codex"), { recursive: true });
      expect(await toml([["model"]])).toEqual([]);
    };
    await inHome({ ".codex/config.toml": 'model = "dot"\n' }, body, () => env)(context);
  }
});

verifies("config.read:linked-home", async ({ launch }) => {
  await withFiles({ "real/config.toml": "" }, async ({ path, uri }) => {
    await symlink("real", join(path, "link"));
    const server = await launch([], { cwd: path, env: { CODEX_HOME: "link" } });
    const peer = await openWebSocketPeer(await server.banner());
    try {
      await peer.handshake();
      expect((await peer.request(READ, VALID)).codexHomeDir).toBe(`${uri}/real`);
    } finally {
      peer.drop();
    }
  });
});

verifies(
  "config.read:missing-home",
  inHome(
    {},
    async ({ peer, home }) => {
      const message = `failed to find Codex home: CODEX_HOME points to "${home.path}/none", but that path does not exist`;
      await expectError(peer.request(READ, VALID), -32603, message);
      await mkdir(join(home.path, "none"));
      expect((await peer.request(READ, VALID)).codexHomeDir).toBe(`${home.uri}/none`);
    },
    (home) => ({ CODEX_HOME: join(home, "none") }),
  ),
);

verifies(
  "config.read:fresh",
  inHome({ "config.toml": "a = 1\n" }, async ({ toml, home }) => {
    expect(await toml([["a"]])).toEqual(["a = 1\n"]);
    await writeFile(join(home.path, "config.toml"), "a = 2\n");
    expect(await toml([["a"]])).toEqual(["a = 2\n"]);
    await rm(join(home.path, "config.toml"));
    expect(await toml([["a"]])).toEqual([]);
  }),
);

const SERVERS = `model = "m"
[mcp_servers.b]
command = "b"
args = ["x"]
[mcp_servers.a]
url = "http://a"
[mcp_servers."dotted.name"]
command = "d"
[other]
n = 1
`;

const B = '[mcp_servers.b]\ncommand = "b"\nargs = ["x"]\n';
const A = '[mcp_servers.a]\nurl = "http://a"\n';
const DOTTED = '[mcp_servers."dotted.name"]\ncommand = "d"\n';

verifies(
  "config.read:projection",
  inHome({ "config.toml": SERVERS }, async ({ toml }) => {
    expect(await toml([["mcp_servers"]])).toEqual([`${B}\n${A}\n${DOTTED}`]);
    expect(await toml([["mcp_servers", "a"]])).toEqual([A]);
    expect(await toml([["mcp_servers", "b", "args"]])).toEqual(['[mcp_servers.b]\nargs = ["x"]\n']);
    expect(await toml([["other", "n"], ["mcp_servers", "a"], ["model"]])).toEqual([
      `model = "m"\n\n${A}\n[other]\nn = 1\n`,
    ]);
  }),
);

verifies(
  "config.read:nothing-selected",
  inHome({ "config.toml": SERVERS }, async ({ toml }) => {
    for (const path of [["none"], [""], ["Model"], ["none", "below"]]) expect(await toml([path])).toEqual([]);
  }),
);

verifies(
  "config.read:literal-keys",
  inHome({ "config.toml": SERVERS }, async ({ toml }) => {
    expect(await toml([["mcp_servers.a"]])).toEqual([]);
    expect(await toml([["mcp_servers", "dotted.name"]])).toEqual([DOTTED]);
  }),
);

verifies(
  "config.read:beyond-a-value",
  inHome({ "config.toml": SERVERS }, async ({ toml }) => {
    expect(await toml([["model", "x", "y"]])).toEqual(['model = "m"\n']);
    expect(await toml([["mcp_servers", "b", "args", "0"]])).toEqual(['[mcp_servers.b]\nargs = ["x"]\n']);
  }),
);

verifies(
  "config.read:missing-below",
  inHome({ "config.toml": SERVERS }, async ({ toml }) => {
    expect(await toml([["mcp_servers", "none"]])).toEqual(["[mcp_servers]\n"]);
    expect(await toml([["mcp_servers", "a", "none"]])).toEqual(["[mcp_servers.a]\n"]);
  }),
);

verifies(
  "config.read:overlap",
  inHome({ "config.toml": SERVERS }, async ({ toml }) => {
    const whole = [`${B}\n${A}\n${DOTTED}`];
    expect(await toml([["mcp_servers"], ["mcp_servers", "a"]])).toEqual(whole);
    expect(await toml([["mcp_servers", "a"], ["mcp_servers"]])).toEqual(whole);
    expect(await toml([["model"], ["model"]])).toEqual(['model = "m"\n']);
  }),
);

verifies(
  "config.read:toml",
  inHome(
    {
      "config.toml": `# comment
[x] # comment
t = { a = 1, b = { c = "d" } }
"quoted key" = 'single'
dotted.k = true
[x.empty]
`,
    },
    async ({ toml }) => {
      expect(await toml([["x"]])).toEqual([
        `[x]\n"quoted key" = "single"\n\n[x.t]\na = 1\n\n[x.t.b]\nc = "d"\n\n[x.dotted]\nk = true\n\n[x.empty]\n`,
      ]);
    },
  ),
);

verifies(
  "config.read:toml-values",
  inHome(
    {
      "config.toml":
        "[x]\nhex = 0xff\nlong = 1_000\nfloat = 1.50\nwhole = 3.0\nneg = -5\ngreatest = 9223372036854775807\n" +
        "date = 1979-05-27 07:32:00Z\narrays = [ [1,2], [], ['a', \"b\"] ]\n",
    },
    async ({ toml }) => {
      expect(await toml([["x"]])).toEqual([
        "[x]\nhex = 255\nlong = 1000\nfloat = 1.5\nwhole = 3.0\nneg = -5\ngreatest = 9223372036854775807\n" +
          'date = 1979-05-27T07:32:00Z\narrays = [[1, 2], [], ["a", "b"]]\n',
      ]);
    },
  ),
);

verifies(
  "config.read:array-of-tables",
  inHome({ "config.toml": "[[x.at]]\nn=1\n[[x.at]]\nn=2\n[x.y]\nz=[{a=1}]\n" }, async ({ toml }) => {
    expect(await toml([["x"]])).toEqual(["[[x.at]]\nn = 1\n\n[[x.at]]\nn = 2\n\n[[x.y.z]]\na = 1\n"]);
    expect(await toml([["x", "at", "n"]])).toEqual(["[[x.at]]\nn = 1\n\n[[x.at]]\nn = 2\n"]);
  }),
);

verifies(
  "config.read:unknown-keys",
  inHome({ "config.toml": "model = 3\nno_such_key = true\n" }, async ({ toml }) => {
    expect(await toml([["model"], ["no_such_key"]])).toEqual(["model = 3\nno_such_key = true\n"]);
  }),
);

verifies(
  "config.read:malformed",
  inHome({}, async ({ peer, home }) => {
    const file = join(home.path, "config.toml");
    for (const [text, place] of [
      ["bad toml [", "1:5"],
      ["a = 1\na = 2\n", "2:1"],
    ] as const) {
      await writeFile(file, text);
      const { message } = await expectError(peer.request(READ, VALID), -32603);
      expect(message).toContain(`failed to load executor-local config: ${file}:${place}: `);
    }
  }),
);

verifies(
  "config.read:not-a-file",
  inHome({ "config.toml/x": "" }, async ({ peer, home }) => {
    const file = join(home.path, "config.toml");
    const message = `failed to load executor-local config: Failed to read config file ${file}: path \`${file}\` is not a file`;
    await expectError(peer.request(READ, VALID), -32603, message);
  }),
);

verifies(
  "config.read:missing-cwd",
  inHome({ "config.toml": "a = 1\n" }, async ({ toml, home }) => {
    for (const cwd of [`${home.uri}/none/none`, pathToFileURL(join(home.path, "config.toml")).href]) {
      expect(await toml([["a"]], cwd)).toEqual(["a = 1\n"]);
    }
  }),
);
