import type { Host } from "../../client/browser.ts";
import { describeFailure } from "../connection/describe-error.ts";
import { pathTo } from "../frame/addresses.ts";
import { navigate } from "../frame/router.ts";
import { toast } from "../ui/toast.tsx";

/** Starts a shell in a directory, and shows it. */
export async function openTerminal(host: Host, directory: string): Promise<void> {
  try {
    const { loginShell, startNamed } = await import("../terminals/start-terminal.ts");
    const name = await startNamed(host, { ...loginShell(host), cwd: directory });
    navigate(pathTo("/t", name));
  } catch (error) {
    toast({ kind: "bad", ...describeFailure("The terminal was not started", error) });
  }
}
