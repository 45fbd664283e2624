import type { Tokens } from "../../../rows/agents/model/model.ts";

/** What a run of agents has used. */
export function tokenLine({ total, input, cached, output }: Tokens): string {
  return `tokens: ${total} (${input} in, ${cached} of them cached, ${output} out)\n`;
}
