import * as z from "zod";
import { methodsWith, object, schema } from "./define.ts";
import { optional, PathUri } from "./fields.ts";
import { SandboxContext } from "./sandbox.ts";

export const TextFile = schema(() => z.object({ path: PathUri(), contents: z.string() }));

export const PluginFiles = object(() => ({
  manifest: TextFile().describe("`plugin.json` in `.codex-plugin`, `.claude-plugin` or `.cursor-plugin`"),
  mcpConfig: TextFile().nullable().describe("The file named by `mcpServers` in the manifest, or `.mcp.json`"),
  appsConfig: TextFile().nullable().describe("The file named by `apps` in the manifest"),
}));

export const DiscoveredRoot = object(() => ({
  id: z.string(),
  path: PathUri(),
  plugin: PluginFiles().nullable(),
  skills: z
    .array(
      z.object({
        instructions: TextFile().describe("A `SKILL.md`"),
        metadata: TextFile().nullable().describe("`agents/openai.yaml` beside it"),
      }),
    )
    .describe("In the order of their URIs"),
  namespaceManifests: z
    .array(TextFile())
    .describe("The plugin manifest at or above the root, then those found below it"),
  warnings: z.array(z.string()),
  error: z.string().nullable().describe("Why this root could not be searched; the others are not affected"),
}));

const text = schema(() => z.string().nullable());

export const Skill = object(() => ({
  name: z.string(),
  description: z.string(),
  shortDescription: text(),
  path: PathUri().describe("The `SKILL.md`"),
  dependencies: z
    .object({
      tools: z.array(
        z.object({
          type: z.string(),
          value: z.string(),
          description: text(),
          transport: text(),
          command: text(),
          url: text(),
          oauthCallbackPort: z.number().int().nullable(),
        }),
      ),
    })
    .nullable(),
  policy: z
    .object({ allowImplicitInvocation: z.boolean().nullable(), products: z.array(z.string()) })
    .nullable(),
}));

export const Plugin = object(() => ({
  id: z.string().describe("`name@marketplace`"),
  displayName: z.string(),
  remotePluginId: text(),
  version: text(),
  root: PathUri(),
  files: PluginFiles(),
  skills: z.array(Skill()),
}));

export const DiscoveredSkill = schema(() =>
  Skill().extend({
    discoveryRoot: z
      .object({ id: z.string().describe("Such as `codex-home-skills`"), path: PathUri() })
      .describe("Where the skill was found"),
  }),
);

/** Codex parses the sandbox of this one method with a different type: `cwd` is required, `policyContext` is unknown. */
export const DiscoverySandbox = schema(() =>
  SandboxContext().omit({ policyContext: true }).extend({ cwd: PathUri() }),
);

const discoveryMethod = methodsWith({
  family: "capability discovery",
  right: "discovery",
  lost: "repeat",
  answers: "eventually",
});

export const discoveryMethods = {
  "capabilityRoots/discoverV1": discoveryMethod({
    doc: "Finds the plugin and the skills below each of the given directories.",
    params: () => ({
      roots: z
        .array(
          z.object({
            id: z.string().describe("Echoed in the result; may repeat"),
            path: PathUri(),
            sandbox: optional(SandboxContext()),
          }),
        )
        .describe("At most 128"),
    }),
    result: () => ({ roots: z.array(DiscoveredRoot()).describe("In the order of the request") }),
  }),
  "capabilities/discoverV2": discoveryMethod({
    doc: "Finds the plugins and skills that apply to a working directory, in all the places where Codex keeps them.",
    params: () => ({
      cwd: PathUri(),
      sandbox: optional(DiscoverySandbox()),
    }),
    result: () => ({
      plugins: z.array(Plugin()),
      skills: z.array(DiscoveredSkill()),
      warnings: z.array(z.string()),
    }),
  }),
};
