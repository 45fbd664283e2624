import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import { DISCOVER, type Found, INCOMPLETE, inHome, MANIFEST, namesOf, skill } from "./discovery-home.ts";
import { expectError, verifies } from "./verifies.ts";

const SKILLS = "codex/skills";
const MAX_AGE_MS = 25_000;

verifies("discovery.v2:params", async ({ peer }) => {
  const connection = await peer();
  await expectError(connection.request(DISCOVER, {}), -32602, "missing field `cwd`");
  await expectError(connection.request(DISCOVER, { cwd: null }), -32602, /^invalid type: null/);
  await expectError(connection.request(DISCOVER, null), -32602);
  const relative = connection.request(DISCOVER, { cwd: "x" });
  await expectError(relative, -32602, "invalid URI: relative URL without a base");
  const result = await connection.request(DISCOVER, { cwd: "file:///", sandbox: null, more: 1 });
  expect(Object.keys(result)).toEqual(["plugins", "skills", "warnings"]);
});

verifies(
  "discovery.v2:cwd",
  inHome(
    {
      [`${SKILLS}/a/SKILL.md`]: skill("a"),
      "work/.agents/skills/w/SKILL.md": skill("w"),
      "work/.git/HEAD": "ref: x",
    },
    async ({ peer, found, uri }) => {
      expect(namesOf(found.skills)).toEqual(["a"]);
      for (const cwd of [`${uri}/work`, `${uri}/none`, "file://host/x"]) {
        expect(await peer.request(DISCOVER, { cwd })).toEqual(found);
      }
    },
  ),
);

verifies(
  "discovery.v2:nothing",
  inHome({}, async ({ found }) => {
    expect(found).toEqual({ plugins: [], skills: [], warnings: [] });
  }),
);

verifies(
  "discovery.v2:fresh",
  inHome({ [`${SKILLS}/a/SKILL.md`]: skill("a") }, async ({ peer, path }) => {
    const names = async () => namesOf((await peer.request(DISCOVER, { cwd: "file:///" })).skills);
    for (const added of ["b", "c"]) {
      await mkdir(join(path, SKILLS, added));
      await writeFile(join(path, SKILLS, added, "SKILL.md"), skill(added));
      await pollUntil(
        async () => (await names()).includes(added),
        MAX_AGE_MS,
        () => `the skill ${added}`,
      );
    }
  }),
  { concurrent: true },
);

verifies(
  "discovery.v2.skills:result",
  inHome({ [`${SKILLS}/a/SKILL.md`]: skill("a") }, async ({ found, uri }) => {
    expect(found.skills).toEqual([
      {
        name: "a",
        description: "about a",
        shortDescription: null,
        path: `${uri}/${SKILLS}/a/SKILL.md`,
        discoveryRoot: { id: "codex-home-skills", path: `${uri}/${SKILLS}` },
        dependencies: null,
        policy: null,
      },
    ]);
  }),
);

verifies(
  "discovery.v2.skills:roots",
  inHome(
    {
      ".agents/skills/a/SKILL.md": skill("agents"),
      ".codex/skills/x/SKILL.md": skill("elsewhere"),
      [`${SKILLS}/z/SKILL.md`]: skill("codex"),
    },
    async ({ found, uri }) => {
      expect(found.skills.map(({ name, discoveryRoot }) => ({ name, discoveryRoot }))).toEqual([
        { name: "codex", discoveryRoot: { id: "codex-home-skills", path: `${uri}/${SKILLS}` } },
        { name: "agents", discoveryRoot: { id: "user-agent-skills", path: `${uri}/.agents/skills` } },
      ]);
    },
  ),
);

verifies("discovery.v2.skills:sorted", async (context) => {
  const names = ["SKILL.md", "b/SKILL.md", "a.b/SKILL.md", "a/SKILL.md", "B/SKILL.md", "é/SKILL.md"];
  const files = Object.fromEntries(names.map((name) => [`${SKILLS}/${name}`, skill("s")]));
  await inHome(files, async ({ found }) => {
    const paths = found.skills.map(({ path }) => path);
    expect(paths).toHaveLength(names.length);
    expect(paths).toEqual([...paths].sort());
  })(context);
});

verifies(
  "discovery.v2.skills:depth",
  inHome(
    {
      [`${SKILLS}/.hidden/SKILL.md`]: skill("hidden"),
      [`${SKILLS}/1/2/3/4/5/6/SKILL.md`]: skill("six"),
      [`${SKILLS}/1/2/3/4/5/6/7/SKILL.md`]: skill("seven"),
    },
    async ({ found }) => {
      expect(namesOf(found.skills)).toEqual(["hidden", "six"]);
      expect(found.warnings).toEqual([]);
    },
  ),
);

verifies(
  "discovery.v2.skills:links",
  inHome(
    { "other/x/SKILL.md": skill("linked"), [`${SKILLS}/file/x`]: "" },
    async ({ found, uri }) => {
      expect(found.skills.map(({ path }) => path)).toEqual([`${uri}/${SKILLS}/link/x/SKILL.md`]);
    },
    async (path) => {
      await symlink(join(path, "other"), join(path, SKILLS, "link"));
      await symlink(join(path, "other/x/SKILL.md"), join(path, SKILLS, "file/SKILL.md"));
    },
  ),
);

verifies(
  "discovery.v2.skills:front-matter",
  inHome(
    {
      [`${SKILLS}/a/SKILL.md`]: `---\nname: "quoted"\ndescription: 'single'\n---\n`,
      [`${SKILLS}/b/SKILL.md`]: "---\nname: literal\ndescription: |\n  one\n  two\n---\n",
      [`${SKILLS}/c/SKILL.md`]: "---\nname: folded\ndescription: >\n  one\n  two\n---\n",
      [`${SKILLS}/d/SKILL.md`]: "---\nname: colon\ndescription: has: a colon\n---\n",
      [`${SKILLS}/e/SKILL.md`]: "---\nname: 5\ndescription: 6\n---\n",
      [`${SKILLS}/f/SKILL.md`]: "---\r\nname: crlf\r\ndescription: crlf too\r\n---\r\n",
      [`${SKILLS}/g/SKILL.md`]: "---\nname:  two   blanks  \ndescription: a\tb   c\nextra: [1]\n---\n",
      [`${SKILLS}/h/SKILL.md`]: skill("any:name/é"),
      [`${SKILLS}/i/SKILL.md`]: `---\nname: long\ndescription: ${"d".repeat(1025)}\n---\n`,
    },
    async ({ found }) => {
      expect(found.skills.map(({ name, description }) => [name, description])).toEqual([
        ["quoted", "single"],
        ["literal", "one two"],
        ["folded", "one two"],
        ["colon", "has: a colon"],
        ["5", "6"],
        ["crlf", "crlf too"],
        ["two blanks", "a b c"],
        ["any:name/é", "about any:name/é"],
        ["long", "d".repeat(1025)],
      ]);
      expect(found.warnings).toEqual([]);
    },
  ),
);

verifies(
  "discovery.v2.skills:default-name",
  inHome(
    {
      [`${SKILLS}/none/SKILL.md`]: "---\ndescription: d\n---\n",
      [`${SKILLS}/x/empty/SKILL.md`]: '---\nname: ""\ndescription: d\n---\n',
    },
    async ({ found }) => expect(namesOf(found.skills)).toEqual(["none", "empty"]),
  ),
);

verifies(
  "discovery.v2.skills:equal-names",
  inHome(
    {
      [`${SKILLS}/a/SKILL.md`]: skill("same"),
      [`${SKILLS}/b/SKILL.md`]: skill("same"),
      ".agents/skills/a/SKILL.md": skill("same"),
    },
    async ({ found }) => expect(namesOf(found.skills)).toEqual(["same", "same", "same"]),
  ),
);

verifies(
  "discovery.v2.skills:short-description",
  inHome(
    {
      [`${SKILLS}/a/SKILL.md`]: skill("a", "metadata:\n  short-description: '  in  short  '\n"),
      [`${SKILLS}/b/SKILL.md`]: skill("b", "short-description: not this\n"),
      [`${SKILLS}/c/SKILL.md`]: skill("c"),
      [`${SKILLS}/c/agents/openai.yaml`]: "interface:\n  short_description: nor this\n",
    },
    async ({ found }) => {
      const shorts = found.skills.map(({ shortDescription }) => shortDescription);
      expect(shorts).toEqual(["in short", null, null]);
    },
  ),
);

verifies(
  "discovery.v2.skills:name-length",
  inHome(
    { [`${SKILLS}/a/SKILL.md`]: skill("n".repeat(64)), [`${SKILLS}/b/SKILL.md`]: skill("n".repeat(65)) },
    async ({ found }) => {
      expect(namesOf(found.skills)).toEqual(["n".repeat(64)]);
      expect(found.warnings).toEqual([INCOMPLETE]);
    },
  ),
);

verifies(
  "discovery.v2.skills:unusable",
  inHome(
    {
      [`${SKILLS}/a/SKILL.md`]: "no front matter",
      [`${SKILLS}/b/SKILL.md`]: "---\nname: b\n---\n",
      [`${SKILLS}/c/SKILL.md`]: '---\nname: c\ndescription: ""\n---\n',
      [`${SKILLS}/d/SKILL.md`]: "---\nname: d\ndescription: unclosed\n",
      [`${SKILLS}/e/SKILL.md`]: "\n---\nname: e\ndescription: late\n---\n",
      [`${SKILLS}/f/SKILL.md`]: "---\nname: [f]\ndescription: list\n---\n",
      [`${SKILLS}/g/SKILL.md`]: "---\nname: g\nname: g\ndescription: twice\n---\n",
      [`${SKILLS}/ok/SKILL.md`]: skill("ok"),
      ".agents/skills/a/SKILL.md": "no front matter",
    },
    async ({ found }) => {
      expect(namesOf(found.skills)).toEqual(["ok"]);
      expect(found.warnings).toEqual([INCOMPLETE, INCOMPLETE]);
    },
  ),
);

const NO_DETAILS = { description: null, transport: null, command: null, url: null, oauthCallbackPort: null };

/** The body of a test on skills with this metadata each. */
function withMetadata(texts: readonly string[], body: (found: Found) => void) {
  const files = texts.flatMap((text, index) => [
    [`${SKILLS}/s${index + 10}/SKILL.md`, skill("s")],
    [`${SKILLS}/s${index + 10}/agents/openai.yaml`, text],
  ]);
  return inHome(Object.fromEntries(files), async ({ found }) => {
    expect(found.skills).toHaveLength(texts.length);
    body(found);
  });
}

verifies(
  "discovery.v2.skills:dependencies",
  withMetadata(
    [
      "dependencies:\n  tools:\n    - type: mcp\n      value: v\n      description: d\n      transport: stdio\n" +
        "      command: c\n      url: http://u\n      oauth:\n        callback_port: 5\n",
      "dependencies:\n  tools:\n    - {type: cli, value: a}\n    - {type: env_var, value: B, more: 1}\n",
      "dependencies:\n  tools: []\n",
      "dependencies: {}\n",
    ],
    ({ skills, warnings }) => {
      expect(skills.map(({ dependencies }) => dependencies)).toEqual([
        {
          tools: [
            {
              type: "mcp",
              value: "v",
              description: "d",
              transport: "stdio",
              command: "c",
              url: "http://u",
              oauthCallbackPort: 5,
            },
          ],
        },
        {
          tools: [
            { type: "cli", value: "a", ...NO_DETAILS },
            { type: "env_var", value: "B", ...NO_DETAILS },
          ],
        },
        null,
        null,
      ]);
      expect(warnings).toEqual([]);
    },
  ),
);

verifies(
  "discovery.v2.skills:policy",
  withMetadata(
    [
      "policy:\n  allow_implicit_invocation: false\n  products: [CODEX, chatgpt, atlas]\n",
      "policy:\n  allow_implicit_invocation: true\n",
      "policy: {}\n",
      "interface:\n  display_name: D\n",
    ],
    ({ skills }) => {
      expect(skills.map(({ policy }) => policy)).toEqual([
        { allowImplicitInvocation: false, products: ["codex", "chatgpt", "atlas"] },
        { allowImplicitInvocation: true, products: [] },
        { allowImplicitInvocation: null, products: [] },
        null,
      ]);
    },
  ),
);

verifies(
  "discovery.v2.skills:bad-metadata",
  withMetadata(
    [
      "not: yaml: at all: [",
      "[]",
      "",
      'policy:\n  allow_implicit_invocation: "no"\n',
      "policy:\n  products: [unheard-of]\n",
      "dependencies:\n  tools:\n    - type: mcp\n",
    ],
    ({ skills, warnings }) => {
      for (const { dependencies, policy } of skills)
        expect({ dependencies, policy }).toEqual({ dependencies: null, policy: null });
      expect(warnings).toEqual([]);
    },
  ),
);

verifies(
  "discovery.v2.skills:namespace",
  inHome(
    { [`${SKILLS}/p/${MANIFEST}`]: `{"name":"outer"}`, [`${SKILLS}/p/s/SKILL.md`]: skill("s") },
    async ({ found }) => expect(namesOf(found.skills)).toEqual(["outer:s"]),
  ),
);
