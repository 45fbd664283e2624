import type { Command } from "commander";
import type { Tokens } from "../../../rows/agents/model/model.ts";
import type { ResponsesModelOptions } from "../../../rows/agents/model/responses-model.ts";
import { defined } from "../../shared/defined.ts";
import { usageFailure } from "../../shared/failure.ts";
import { parseDurationArgument } from "../arguments.ts";

/** Options that say which model works, and where. */
export interface ModelFlags {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
  readonly anonymous?: boolean;
  readonly reasoning?: string;
  readonly idleTimeout?: number;
}

const KEY_VARIABLE = "OPENAI_API_KEY";
const URL_VARIABLE = "OPENAI_BASE_URL";
const MODEL_VARIABLE = "OPENAI_MODEL";

/** Adds these options. */
export function withModel(command: Command): Command {
  return command
    .option("--model <NAME>", `model name at the endpoint [default: ${MODEL_VARIABLE}]`)
    .option("--base-url <URL>", `endpoint with the Responses API [default: ${URL_VARIABLE}, else OpenAI's]`)
    .option("--api-key-env <NAME>", `variable that holds the endpoint's key [default: ${KEY_VARIABLE}]`)
    .option("--anonymous", "send no key")
    .option("--reasoning <EFFORT>", "how hard the model thinks: low, medium, high, …")
    .option(
      "--idle-timeout <DURATION>",
      "how long the endpoint may be silent [default: 5m]",
      parseDurationArgument,
    );
}

/** The model that the options and the environment name. */
export function modelOptions(flags: ModelFlags): ResponsesModelOptions {
  const { reasoning, idleTimeout } = flags;
  const model = flags.model ?? (process.env[MODEL_VARIABLE] || undefined);
  if (model === undefined)
    throw usageFailure(`--model is missing; name the endpoint's model with it, or in ${MODEL_VARIABLE}`);
  const baseUrl = flags.baseUrl ?? (process.env[URL_VARIABLE] || undefined);
  const apiKey = apiKeyFrom(flags, baseUrl);
  return defined({ model, baseUrl, apiKey, reasoningEffort: reasoning, idleTimeoutMs: idleTimeout });
}

/** A run's token usage. */
export function tokenLine({ total, input, cached, output }: Tokens): string {
  return `tokens: ${total} (${input} in, ${cached} of them cached, ${output} out)\n`;
}

function apiKeyFrom(
  { apiKeyEnv, anonymous = false }: ModelFlags,
  baseUrl: string | undefined,
): string | undefined {
  if (anonymous && apiKeyEnv !== undefined)
    throw usageFailure("--anonymous and --api-key-env exclude each other; choose one");
  if (anonymous) return undefined;
  const name = apiKeyEnv ?? KEY_VARIABLE;
  const key = process.env[name]?.trim() || undefined;
  // Prevents programs started by this one, such as a server on this machine, from inheriting it.
  delete process.env[name];
  if (key === undefined && (apiKeyEnv !== undefined || baseUrl === undefined))
    throw usageFailure(`${name} is not set; set it to the endpoint's key, or add --anonymous`);
  if (key !== undefined && baseUrl !== undefined && isOpenToAll(baseUrl))
    throw usageFailure(
      `the key would be sent to ${baseUrl} without encryption; use https://, or add --anonymous to send none`,
    );
  return key;
}

/** True for a URL to another machine without encryption. */
function isOpenToAll(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
