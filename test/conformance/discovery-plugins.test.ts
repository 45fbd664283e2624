import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { inRoot, NOTHING } from "./discovery-tree.ts";
import { verifies } from "./verifies.ts";

const CODEX = ".codex-plugin/plugin.json";
const CLAUDE = ".claude-plugin/plugin.json";
const CURSOR = ".cursor-plugin/plugin.json";
const MAX_FILE_BYTES = 1_048_576;

/** The body of a test on a plugin with this manifest and files of every name a manifest may ask for. */
function inPlugin(
  manifests: readonly unknown[],
  expected: (found: {
    mcp: string | undefined;
    apps: string | undefined;
    warnings: string[];
    uri: string;
  }) => void,
) {
  const files = { ".mcp.json": "default", ".app.json": "default", "m.json": "named", "dir/a.json": "named" };
  return inRoot(files, async ({ discover, path, uri }) => {
    await mkdir(join(path, ".codex-plugin"));
    for (const manifest of manifests) {
      const text = typeof manifest === "string" ? manifest : JSON.stringify(manifest);
      await writeFile(join(path, CODEX), text);
      const { plugin, warnings, error } = await discover();
      expect({ manifest: plugin?.manifest.contents, error }).toEqual({ manifest: text, error: null });
      expected({ mcp: plugin?.mcpConfig?.contents, apps: plugin?.appsConfig?.contents, warnings, uri });
    }
  });
}

verifies(
  "discovery.v1.plugin:precedence",
  inRoot({ [CODEX]: "codex", [CLAUDE]: "claude", [CURSOR]: "cursor" }, async ({ discover, path, uri }) => {
    for (const file of [CODEX, CLAUDE, CURSOR]) {
      const manifest = { path: `${uri}/${file}`, contents: file.slice(1, file.indexOf("-")) };
      expect(await discover()).toMatchObject({
        plugin: { manifest, mcpConfig: null, appsConfig: null },
        namespaceManifests: [manifest],
      });
      await rm(join(path, file));
    }
    expect(await discover()).toEqual({ id: "r", path: uri, ...NOTHING });
  }),
);

verifies(
  "discovery.v1.plugin:unusable-manifest",
  inRoot({ [`${CODEX}/x`]: "", [CLAUDE]: "claude" }, async ({ discover, path, uri }) => {
    expect(await discover()).toMatchObject({ plugin: { manifest: { contents: "claude" } }, warnings: [] });
    await rm(join(path, CODEX), { recursive: true });
    await writeFile(join(path, CODEX), Buffer.from([0xff]));
    expect(await discover()).toMatchObject({
      plugin: { manifest: { contents: "claude" } },
      warnings: [
        `capability file ${uri}/${CODEX} is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0`,
      ],
    });
    await writeFile(join(path, CODEX), "x".repeat(MAX_FILE_BYTES + 1));
    expect(await discover()).toMatchObject({
      plugin: { manifest: { contents: "claude" } },
      warnings: [`capability file ${uri}/${CODEX} exceeds the 1048576-byte limit`],
    });
  }),
);

verifies(
  "discovery.v1.plugin:any-text",
  inPlugin(["not json", "", "[]", "3", "{"], ({ mcp, apps, warnings }) => {
    expect({ mcp, apps, warnings }).toEqual({ mcp: "default", apps: "default", warnings: [] });
  }),
);

verifies(
  "discovery.v1.plugin:default-files",
  inRoot({ [CODEX]: "{}", ".mcp.json": "servers", ".app.json": "apps" }, async ({ discover, uri }) => {
    expect((await discover()).plugin).toEqual({
      manifest: { path: `${uri}/${CODEX}`, contents: "{}" },
      mcpConfig: { path: `${uri}/.mcp.json`, contents: "servers" },
      appsConfig: { path: `${uri}/.app.json`, contents: "apps" },
    });
  }),
);

verifies(
  "discovery.v1.plugin:named-files",
  inPlugin([{ mcpServers: "./m.json", apps: "./dir/a.json" }], ({ mcp, apps, warnings }) => {
    expect({ mcp, apps, warnings }).toEqual({ mcp: "named", apps: "named", warnings: [] });
  }),
);

verifies(
  "discovery.v1.plugin:named-missing",
  inPlugin(
    [
      { mcpServers: "./none.json", apps: "./none.json" },
      { mcpServers: "./dir", apps: "./dir" },
    ],
    ({ mcp, apps, warnings }) => {
      expect({ mcp, apps, warnings }).toEqual({ mcp: undefined, apps: undefined, warnings: [] });
    },
  ),
);

verifies("discovery.v1.plugin:inline-servers", async (context) => {
  await inPlugin([{ mcpServers: {} }, { mcpServers: { x: {} } }], ({ mcp, warnings }) => {
    expect({ mcp, warnings }).toEqual({ mcp: undefined, warnings: [] });
  })(context);
  const others = [
    { mcpServers: ["./m.json"] },
    { mcpServers: null },
    { mcp_servers: "./m.json" },
    { apps: {} },
  ];
  await inPlugin(others, ({ mcp, apps, warnings }) => {
    expect({ mcp, apps, warnings }).toEqual({ mcp: "default", apps: "default", warnings: [] });
  })(context);
});

verifies(
  "discovery.v1.plugin:path-start",
  inPlugin(
    ["m.json", "../m.json", "/etc/hostname", "", "dir"].map((name) => ({ mcpServers: name, apps: name })),
    ({ mcp, apps, warnings, uri }) => {
      expect({ mcp, apps, warnings }).toEqual({
        mcp: "default",
        apps: "default",
        warnings: ["mcpServers", "apps"].map(
          (member) => `ignoring ${member} in ${uri}/${CODEX}: path must start with \`./\``,
        ),
      });
    },
  ),
);

verifies(
  "discovery.v1.plugin:path-outside",
  inPlugin(
    ["./", "./../m.json", "./dir/../m.json"].map((name) => ({ mcpServers: name, apps: name })),
    ({ mcp, apps, warnings, uri }) => {
      expect({ mcp, apps, warnings }).toEqual({
        mcp: "default",
        apps: "default",
        warnings: ["mcpServers", "apps"].map(
          (member) => `ignoring ${member} in ${uri}/${CODEX}: path must remain below the capability root`,
        ),
      });
    },
  ),
);

const NAMESPACES = {
  [CODEX]: "root",
  [`sub/${CODEX}`]: "sub",
  [`sub/${CLAUDE}`]: "hidden by sub",
  [`a/b/${CURSOR}`]: "b",
  "skills/s/SKILL.md": "s",
};

verifies(
  "discovery.v1.namespaces:root",
  inRoot(NAMESPACES, async ({ discover, uri }) => {
    expect((await discover()).namespaceManifests[0]).toEqual({ path: `${uri}/${CODEX}`, contents: "root" });
    expect((await discover("/sub")).namespaceManifests).toEqual([
      { path: `${uri}/sub/${CODEX}`, contents: "sub" },
    ]);
  }),
);

verifies(
  "discovery.v1.namespaces:below",
  inRoot(NAMESPACES, async ({ discover, uri }) => {
    expect((await discover()).namespaceManifests.slice(1)).toEqual([
      { path: `${uri}/a/b/${CURSOR}`, contents: "b" },
      { path: `${uri}/sub/${CODEX}`, contents: "sub" },
    ]);
  }),
);

verifies(
  "discovery.v1.namespaces:ancestor",
  inRoot(NAMESPACES, async ({ discover }) => {
    for (const [directory, names] of [
      ["/skills/s", ["root"]],
      ["/skills", ["root"]],
      ["/a", ["root", "b"]],
    ] as const) {
      const { plugin, namespaceManifests } = await discover(directory);
      expect({ directory, plugin, names: namespaceManifests.map(({ contents }) => contents) }).toEqual({
        directory,
        plugin: null,
        names,
      });
    }
  }),
);

verifies("discovery.v1.namespaces:depth", async (context) => {
  const depths = Array.from({ length: 8 }, (_, depth) => [`${"d/".repeat(depth)}${CODEX}`, `${depth}`]);
  await inRoot(Object.fromEntries(depths), async ({ discover }) => {
    const { namespaceManifests, warnings } = await discover();
    expect(namespaceManifests.map(({ contents }) => contents).sort()).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(warnings).toEqual([]);
  })(context);
});
