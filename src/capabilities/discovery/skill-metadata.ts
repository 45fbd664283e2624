import { parseYamlFields, type YamlFields } from "./yaml-fields.ts";

/** Contents of `agents/openai.yaml` beside a skill. */
export interface SkillMetadata {
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

export const NO_METADATA: SkillMetadata = { dependencies: null, policy: null };

const MAX_WORD_LENGTH = 64;
const MAX_TEXT_LENGTH = 1024;
const PRODUCTS = ["codex", "chatgpt", "atlas"];

/** Metadata with any fault is ignored: it only adds to what the skill itself says. */
export async function readSkillMetadata(source: string): Promise<SkillMetadata> {
  try {
    const fields = await parseYamlFields(source);
    fields.fields("interface"); // Nothing of it is told, but it must be one.
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
