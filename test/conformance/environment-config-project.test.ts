import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { withFiles } from "./process-events.ts";
import { openWebSocketPeer } from "./raw-peer.ts";
import { expectError, type VerifyContext, verifies } from "./verifies.ts";

interface Layer {
  source: string;
  baseDir: string;
  toml: string;
}

interface ProjectContext {
  project: { path: string; uri: string };
  /** Writes the user's configuration: `by = "user"` and these lines. */
  configure: (lines: string) => Promise<void>;
  /** The layers for a directory of the project. */
  layers: (directory?: string, keys?: readonly string[]) => Promise<Layer[]>;
  /** Who set `by` in each of them. */
  owners: (directory?: string) => Promise<string[]>;
}

const by = (who: string) => `by = "${who}"\n`;
const FILE = ".codex/config.toml";

function trust(path: string, level = "trusted"): string {
  return `[projects."${path}"]\ntrust_level = "${level}"\n`;
}

/** The body of a test on a server and a directory with these files, which its user trusts by default. */
function inProject(files: Record<string, string>, body: (context: ProjectContext) => Promise<void>) {
  return async ({ launch }: VerifyContext) =>
    withFiles(files, async (project) => {
      const server = await launch([]);
      const peer = await openWebSocketPeer(await server.banner());
      try {
        await peer.handshake();
        const configure = (lines: string) => writeFile(join(server.home, "config.toml"), by("user") + lines);
        const layers: ProjectContext["layers"] = async (directory = "", keys = ["by"]) => {
          const { config } = await peer.request("environmentConfig/read", {
            cwd: `${project.uri}/${directory}`.replace(/\/$/, ""),
            configPaths: keys.map((key) => [key]),
            requirementsPaths: [],
          });
          return config.layers;
        };
        const owners: ProjectContext["owners"] = async (directory) =>
          (await layers(directory)).map(({ toml }) => /^by = "(.*)"\n$/.exec(toml)?.[1] ?? toml);
        await configure(trust(project.path));
        await body({ project, configure, layers, owners });
      } finally {
        peer.drop();
      }
    });
}

const NESTED = {
  [FILE]: by("root"),
  [`sub/${FILE}`]: by("sub"),
  [`sub/deep/${FILE}`]: by("deep"),
};
const REPOSITORY = { ...NESTED, ".git/HEAD": "ref: refs/heads/main\n" };

verifies(
  "config.project:trusted",
  inProject({ [FILE]: by("project") }, async ({ layers, project }) => {
    const [user, ...others] = await layers();
    expect(user?.toml).toBe(by("user"));
    expect(others).toEqual([
      {
        source: `project (${project.path}/${FILE})`,
        baseDir: `${project.uri}/.codex`,
        toml: by("project"),
      },
    ]);
  }),
);

verifies(
  "config.project:untrusted",
  inProject({ [FILE]: by("project") }, async ({ configure, owners, project }) => {
    expect(await owners()).toEqual(["user", "project"]);
    for (const lines of ["", trust(project.path, "untrusted")]) {
      await configure(lines);
      expect(await owners()).toEqual(["user"]);
    }
  }),
);

verifies(
  "config.project:exact",
  inProject(REPOSITORY, async ({ configure, owners, project }) => {
    for (const path of [join(project.path, ".."), `${project.path}/`]) {
      await configure(trust(path));
      expect(await owners()).toEqual(["user"]);
      expect(await owners("sub")).toEqual(["user"]);
    }
  }),
);

verifies(
  "config.project:repository",
  inProject(REPOSITORY, async ({ owners, project }) => {
    expect(await owners()).toEqual(["user", "root"]);
    expect(await owners("sub")).toEqual(["user", "root", "sub"]);
    expect(await owners("sub/deep")).toEqual(["user", "root", "sub", "deep"]);
    await mkdir(join(project.path, "bare"));
    expect(await owners("bare")).toEqual(["user", "root"]);
  }),
);

verifies(
  "config.project:no-repository",
  inProject(NESTED, async ({ owners, project }) => {
    await mkdir(join(project.path, ".git"));
    expect(await owners()).toEqual(["user", "root"]);
    expect(await owners("sub")).toEqual(["user"]);
    await writeFile(join(project.path, ".git/HEAD"), "ref: refs/heads/main\n");
    expect(await owners("sub")).toEqual(["user", "root", "sub"]);
  }),
);

verifies(
  "config.project:markers",
  inProject({ ...NESTED, mark: "" }, async ({ configure, owners, project }) => {
    expect(await owners("sub")).toEqual(["user"]);
    await configure(`project_root_markers = ["mark"]\n${trust(project.path)}`);
    expect(await owners("sub")).toEqual(["user", "root", "sub"]);
  }),
);

verifies(
  "config.project:trusted-below",
  inProject(REPOSITORY, async ({ configure, owners, project }) => {
    await configure(trust(join(project.path, "sub")));
    expect(await owners()).toEqual(["user"]);
    expect(await owners("sub")).toEqual(["user", "sub"]);
    expect(await owners("sub/deep")).toEqual(["user", "sub"]);
  }),
);

const WITHHELD_KEYS = (
  "apps_mcp_product_sku chatgpt_base_url experimental_realtime_webrtc_call_base_url " +
  "experimental_realtime_ws_base_url model_provider model_providers notify openai_base_url otel profile profiles " +
  "responses_api_metadata"
).split(" ");

verifies(
  "config.project:withheld-keys",
  inProject(
    { [FILE]: [...WITHHELD_KEYS, "model", "mcp_servers", "hooks"].map((key) => `${key} = "x"\n`).join("") },
    async ({ layers }) => {
      const keys = [...WITHHELD_KEYS, "model", "mcp_servers", "hooks"];
      expect((await layers("", keys)).map(({ toml }) => toml)).toEqual([
        'model = "x"\nmcp_servers = "x"\nhooks = "x"\n',
      ]);
    },
  ),
);

verifies(
  "config.project:malformed",
  inProject({ [FILE]: "bad toml [" }, async ({ configure, layers, owners, project }) => {
    const failure = await expectError(layers(), -32603);
    expect(failure.message).toContain(
      `failed to load executor-local config: Error parsing project config file ${project.path}/${FILE}: `,
    );
    await configure("");
    expect(await owners()).toEqual(["user"]);
  }),
);

verifies(
  "config.project:trust-level",
  inProject({ [FILE]: by("project") }, async ({ configure, layers, project }) => {
    await configure(trust(project.path, "weird"));
    const failure = await expectError(layers(), -32603);
    expect(failure.message).toContain(
      "failed to load executor-local config: unknown variant `weird`, expected `trusted` or `untrusted`",
    );
  }),
);

verifies("config.project:codex-home", async ({ launch }) => {
  await withFiles({}, async ({ path, uri }) => {
    await mkdir(join(path, ".codex"));
    await writeFile(join(path, FILE), by("user") + trust(path));
    const server = await launch([], { env: { HOME: path, CODEX_HOME: join(path, ".codex") } });
    const peer = await openWebSocketPeer(await server.banner());
    try {
      await peer.handshake();
      const params = { cwd: uri, configPaths: [["by"]], requirementsPaths: [] };
      const { config } = await peer.request("environmentConfig/read", params);
      expect(config.layers.map((layer: Layer) => layer.toml)).toEqual([by("user")]);
    } finally {
      peer.drop();
    }
  });
});
