import { expect } from "vitest";
import { type Found, INCOMPLETE, inHome, MANIFEST, namesOf, skill } from "./discovery-home.ts";
import { verifies } from "./verifies.ts";

const CACHE = "codex/plugins/cache";
const UNRESOLVED = "some capability locations could not be resolved; discovery may be incomplete";

verifies(
  "discovery.v2.plugins:result",
  inHome(
    {
      [`${CACHE}/mk/plug/1.0.0/${MANIFEST}`]: `{"name":"plug","version":"9","apps":"./a.json"}`,
      [`${CACHE}/mk/plug/1.0.0/.mcp.json`]: "servers",
      [`${CACHE}/mk/plug/1.0.0/a.json`]: "apps",
      [`${CACHE}/mk/plug/1.0.0/skills/s/SKILL.md`]: skill("s"),
    },
    async ({ found, uri }) => {
      const root = `${uri}/${CACHE}/mk/plug/1.0.0`;
      expect(found).toEqual({
        plugins: [
          {
            id: "plug@mk",
            displayName: "plug",
            remotePluginId: null,
            version: "1.0.0",
            root,
            files: {
              manifest: {
                path: `${root}/${MANIFEST}`,
                contents: `{"name":"plug","version":"9","apps":"./a.json"}`,
              },
              mcpConfig: { path: `${root}/.mcp.json`, contents: "servers" },
              appsConfig: { path: `${root}/a.json`, contents: "apps" },
            },
            skills: [
              {
                name: "plug:s",
                description: "about s",
                shortDescription: null,
                path: `${root}/skills/s/SKILL.md`,
                dependencies: null,
                policy: null,
              },
            ],
          },
        ],
        skills: [],
        warnings: [],
      });
    },
  ),
);

/** The body of a test on plugin directories with these manifests, named MARKETPLACE/NAME/VERSION. */
function withPlugins(
  manifests: Record<string, string>,
  body: (found: Found) => void,
  more: Record<string, string> = {},
) {
  const files = Object.entries(manifests).map(([name, text]) => [`${CACHE}/${name}/${MANIFEST}`, text]);
  return inHome({ ...Object.fromEntries(files), ...more }, async ({ found }) => body(found));
}

verifies(
  "discovery.v2.plugins:sorted",
  withPlugins({ "b/y/1": "{}", "b/y2/1": "{}", "a/z/1": "{}", "c/x/1": "{}" }, ({ plugins }) => {
    expect(plugins.map(({ id }) => id)).toEqual(["x@c", "y2@b", "y@b", "z@a"]);
  }),
);

verifies(
  "discovery.v2.plugins:disabled",
  withPlugins(
    { "mk/off/1": "{}", "mk/unnamed/1": "{}" },
    ({ plugins }) => {
      expect(plugins.map(({ id }) => id)).toEqual(["off@mk", "unnamed@mk"]);
    },
    { "codex/config.toml": '[plugins."off@mk"]\nenabled = false\n[plugins."none@mk"]\nenabled = true\n' },
  ),
);

verifies(
  "discovery.v2.plugins:version",
  withPlugins(
    {
      "m/a/2.0.0": "{}",
      "m/a/10.0.0": "{}",
      "m/a/1.9.9": "{}",
      "m/b/1.0.0": "{}",
      "m/b/1.0.0-beta": "{}",
      "m/c/9": "{}",
      "m/c/10": "{}",
      "m/d/1.0.0": "{}",
      "m/d/deadbeef": "{}",
      "m/e/99.0.0": "{}",
      "m/e/local": "{}",
    },
    ({ plugins }) => {
      expect(plugins.map(({ version }) => version)).toEqual(["10.0.0", "1.0.0", "9", "deadbeef", "local"]);
    },
  ),
);

verifies(
  "discovery.v2.plugins:newest-only",
  withPlugins(
    { "m/a/1.0.0": "{}" },
    ({ plugins, warnings }) => expect({ plugins, warnings }).toEqual({ plugins: [], warnings: [INCOMPLETE] }),
    { [`${CACHE}/m/a/2.0.0/x`]: "" },
  ),
);

verifies(
  "discovery.v2.plugins:display-name",
  withPlugins(
    {
      "m/a/1": '{"name":"n","interface":{"displayName":"Shown"}}',
      "m/b/2": '{"name":"n","interface":{"displayName":" "}}',
      "m/c/3": '{"name":"n"}',
      "m/d/4": '{"displayName":"not this"}',
      "m/e/5": '{"name":"  "}',
    },
    ({ plugins }) => {
      expect(plugins.map(({ displayName }) => displayName)).toEqual(["Shown", "n", "n", "4", "5"]);
    },
  ),
);

verifies(
  "discovery.v2.plugins:unusable",
  withPlugins(
    { "m/a/1": "not json", "m/b/1": "[]", "m/c/1": '{"name":3}', "m/ok/1": "{}" },
    ({ plugins, warnings }) => {
      expect(plugins.map(({ id }) => id)).toEqual(["ok@m"]);
      expect([...new Set(warnings)]).toEqual([INCOMPLETE]);
    },
    { [`${CACHE}/m/none/1/skills/s/SKILL.md`]: skill("s") },
  ),
);

verifies(
  "discovery.v2.plugins:names",
  withPlugins(
    {
      "m/bad name/1": "{}",
      "bad market/a/1": "{}",
      "m/b/bad version": "{}",
      "m/é/1": "{}",
      "m/ok_-9/1+2": "{}",
    },
    ({ plugins, warnings }) => {
      expect(plugins.map(({ id, version }) => ({ id, version }))).toEqual([
        { id: "ok_-9@m", version: "1+2" },
      ]);
      expect(warnings).toEqual([]);
    },
  ),
);

verifies(
  "discovery.v2.plugins:skills",
  withPlugins(
    { "m/a/1": '{"name":"outer","skills":"./elsewhere"}', "m/a/1/sub": '{"name":"inner"}', "m/b/7": "{}" },
    ({ plugins }) => {
      const names = plugins.map(({ skills }) => namesOf(skills));
      expect(names).toEqual([["outer:root", "outer:any", "inner:nameless"], ["7:s"]]);
    },
    {
      [`${CACHE}/m/a/1/SKILL.md`]: skill("root"),
      [`${CACHE}/m/a/1/any/where/SKILL.md`]: skill("any"),
      [`${CACHE}/m/a/1/sub/nameless/SKILL.md`]: "---\ndescription: d\n---\n",
      [`${CACHE}/m/b/7/s/SKILL.md`]: skill("s"),
    },
  ),
);

const REMOTE = ".codex-remote-plugin-install.json";

verifies(
  "discovery.v2.plugins:remote-id",
  withPlugins(
    { "m/a/1": "{}", "m/b/1": "{}" },
    ({ plugins, warnings }) => {
      expect(plugins.map(({ remotePluginId }) => remotePluginId)).toEqual(["rid", null]);
      expect(warnings).toEqual([]);
    },
    {
      [`${CACHE}/m/a/${REMOTE}`]: '{"schema_version":1,"remote_plugin_id":"rid"}',
      [`${CACHE}/m/b/1/${REMOTE}`]: '{"schema_version":1,"remote_plugin_id":"not here"}',
    },
  ),
);

verifies("discovery.v2.plugins:bad-remote-id", async (context) => {
  const texts = [
    "junk",
    '{"remote_plugin_id":"r"}',
    '{"schema_version":2,"remote_plugin_id":"r"}',
    '{"schema_version":1,"remote_plugin_id":" "}',
    '{"schemaVersion":1,"remotePluginId":"r"}',
  ];
  for (const text of texts) {
    const body = ({ plugins, warnings }: Found) => {
      expect({ text, ids: plugins.map(({ remotePluginId }) => remotePluginId), warnings }).toEqual({
        text,
        ids: [null],
        warnings: [UNRESOLVED],
      });
    };
    await withPlugins({ "m/a/1": "{}" }, body, { [`${CACHE}/m/a/${REMOTE}`]: text })(context);
  }
});
