import { SANDBOX_PRESETS, type SandboxPreset } from "../../protocol/sandbox-options.ts";
import { usageError } from "./cli-error.ts";

/** The preset that `--sandbox` names. */
export function sandboxPreset(name: string): SandboxPreset {
  const preset = SANDBOX_PRESETS.find((known) => known === name);
  if (preset !== undefined) return preset;
  throw usageError(
    `invalid value '${name}' for '--sandbox <NAME>': expected ${SANDBOX_PRESETS.join(" or ")}`,
  );
}
