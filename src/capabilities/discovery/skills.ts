import { showPath } from "../files/native-path.ts";
import type { Location } from "../files/location.ts";
import type { TextFile } from "./capability-files.ts";
import type { SkillFiles } from "./capability-root.ts";
import { readFrontMatter } from "./front-matter.ts";
import { namespaceOf } from "./plugin-manifest.ts";
import { parseYamlFields, type YamlFields } from "./yaml-fields.ts";

/** Contents of `agents/openai.yaml` beside a skill. */
interface SkillMetadata {
  readonly dependencies: {
    readonly tools: readonly {
      readonly type: string;
      readonly value: string;
      readonly description: string | null;
      readonly transport: string | null;
      readonly command: string | null;
      readonly url: string | null;
      readonly oauthCallbackPort: number | null;
    }[];
  } | null;
  readonly policy: {
    readonly allowImplicitInvocation: boolean | null;
    readonly products: readonly string[];
  } | null;
}

type SkillTool = NonNullable<SkillMetadata["dependencies"]>["tools"][number];

/** A skill's description of itself. */
export interface SkillDescription extends SkillMetadata {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | null;
  readonly location: Location;
}

const MAX_NAME_LENGTH = 64;
const NO_METADATA: SkillMetadata = { dependencies: null, policy: null };

const MAX_WORD_LENGTH = 64;
const MAX_TEXT_LENGTH = 1024;
const PRODUCTS = ["codex", "chatgpt", "atlas"];

/** Throws an Error with the reason if the skill cannot be used. */
export async function describeSkill(
  { instructions, metadata }: SkillFiles,
  manifests: readonly TextFile[],
): Promise<SkillDescription> {
  const { location, contents } = instructions;
  const head = await readFrontMatter(contents);
  const name = head.name ?? showPath(location.parent.name);
  if (Array.from(name).length > MAX_NAME_LENGTH)
    throw new Error(`name is longer than ${MAX_NAME_LENGTH} characters`);
  const namespace = namespaceOf(location, manifests);
  return {
    name: namespace === undefined ? name : `${namespace}:${name}`,
    description: head.description,
    shortDescription: head.shortDescription ?? null,
    location,
    ...(metadata === undefined ? NO_METADATA : await readSkillMetadata(metadata.contents)),
  };
}

/** Metadata with any fault is ignored: it only adds to what the skill itself says. */
async function readSkillMetadata(source: string): Promise<SkillMetadata> {
  try {
    const fields = await parseYamlFields(source);
    fields.fields("interface"); // It must be a mapping, although none of it is returned.
    return {
      dependencies: readDependencies(fields.fields("dependencies")),
      policy: readPolicy(fields.fields("policy")),
    };
  } catch {
    return NO_METADATA;
  }
}

function readDependencies(fields: YamlFields | undefined): SkillMetadata["dependencies"] {
  const tools = (fields?.fieldsList("tools") ?? []).flatMap(readTool);
  return tools.length === 0 ? null : { tools };
}

function readTool(fields: YamlFields): SkillTool[] {
  const text = (key: string, maxLength = MAX_TEXT_LENGTH) => {
    const value = fields.text(key);
    return value === undefined || Array.from(value).length > maxLength ? null : value;
  };
  const type = text("type", MAX_WORD_LENGTH);
  const value = text("value");
  const tool = {
    description: text("description"),
    transport: text("transport", MAX_WORD_LENGTH),
    command: text("command"),
    url: text("url"),
    oauthCallbackPort: fields.fields("oauth")?.port("callback_port") ?? null,
  };
  return type === null || value === null ? [] : [{ type, value, ...tool }];
}

function readPolicy(fields: YamlFields | undefined): SkillMetadata["policy"] {
  if (fields === undefined) return null;
  return {
    allowImplicitInvocation: fields.boolean("allow_implicit_invocation") ?? null,
    products: fields.textList("products").map((written) => {
      const product = PRODUCTS.find((name) => written === name || written === name.toUpperCase());
      if (product === undefined) throw new Error(`unknown product ${written}`);
      return product;
    }),
  };
}
