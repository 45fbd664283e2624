import { ExecError, ProtocolError } from "../../base/errors.ts";
import type { Params, Result } from "../../protocol/index.ts";
import { type Sandbox, sandboxContext } from "../../protocol/sandbox-options.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";

/**
 * The sandbox of a request. Servers that do not describe themselves predate sandboxes: they would ignore it, and carry
 * out the request unprotected.
 */
export function sandboxFor(
  { environment }: { readonly environment?: { readonly cwd?: string | null | undefined } | undefined },
  sandbox: Sandbox,
  cwd: string | undefined = environment?.cwd ?? "file:///",
): SandboxContext {
  const context = sandboxContext(sandbox, cwd);
  if (environment === undefined) throw new ExecError("UNSUPPORTED", "this server is too old for a sandbox");
  return context;
}

/** Throws a ProtocolError if the server started a process without the requested sandbox. */
export function checkConfined(
  { argv, sandbox }: Pick<Params<"process/start">, "argv" | "sandbox">,
  { sandboxType = "none" }: Result<"process/start">,
): void {
  if (sandbox?.permissions.type !== "managed" || sandboxType !== "none") return;
  throw new ProtocolError(`the server started ${argv[0]} without the requested sandbox, so it was killed`);
}
