import { uriFromPath } from "../../base/file-uri.ts";
import { type NativePath, splitPath } from "../files/native-path.ts";
import type { SkillFiles } from "./capability-root.ts";

/** What a skill says of itself. */
export interface SkillDescription {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | null;
  readonly path: NativePath;
  readonly dependencies: { readonly tools: readonly SkillTool[] } | null;
  readonly policy: {
    readonly allowImplicitInvocation: boolean | null;
    readonly products: readonly string[];
  } | null;
}

export interface SkillTool {
  readonly type: string;
  readonly value: string;
  readonly description: string | null;
  readonly transport: string | null;
  readonly command: string | null;
  readonly url: string | null;
  readonly oauthCallbackPort: number | null;
}

type Yaml = typeof import("yaml");
type Members = Record<string, unknown>;

/** Reads the head of a SKILL.md and the settings beside it. Throws an Error with the reason when the skill cannot be used. */
export async function describeSkill({ instructions, metadata }: SkillFiles): Promise<SkillDescription> {
  const yaml = await import("yaml");
  const head = /^---\r?\n(.*?)\r?\n---\s*(?:\r?\n|$)/s.exec(instructions.contents)?.[1];
  if (head === undefined) throw new Error("missing YAML frontmatter delimited by ---");
  const members = parse(yaml, head);
  const description = text(members["description"]);
  if (description === null) throw new Error("missing field `description`");
  const settings = metadata === undefined ? {} : parse(yaml, metadata.contents);
  return {
    name: text(members["name"]) ?? directoryName(instructions.path),
    description,
    shortDescription: text(object(members["metadata"])["short-description"]),
    path: instructions.path,
    dependencies: readDependencies(settings["dependencies"]),
    policy: readPolicy(settings["policy"]),
  };
}

function parse(yaml: Yaml, source: string): Members {
  return object(yaml.parse(source));
}

function object(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function text(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

function directoryName(path: NativePath): string {
  const uri = uriFromPath(splitPath(path).directory);
  return decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1));
}

function readDependencies(value: unknown): SkillDescription["dependencies"] {
  const { tools } = object(value);
  if (!Array.isArray(tools)) return null;
  const read = (tools as unknown[]).map(object).flatMap((tool) => {
    const type = text(tool["type"]);
    const name = text(tool["value"]);
    if (type === null || name === null) return [];
    return {
      type,
      value: name,
      description: text(tool["description"]),
      transport: text(tool["transport"]),
      command: text(tool["command"]),
      url: text(tool["url"]),
      oauthCallbackPort: typeof tool["oauth_callback_port"] === "number" ? tool["oauth_callback_port"] : null,
    };
  });
  return read.length === 0 ? null : { tools: read };
}

function readPolicy(value: unknown): SkillDescription["policy"] {
  if (value === undefined || value === null) return null;
  const { allow_implicit_invocation: allow, products } = object(value);
  return {
    allowImplicitInvocation: typeof allow === "boolean" ? allow : null,
    products: Array.isArray(products) ? products.filter((product) => typeof product === "string") : [],
  };
}
