import type { Result } from "../../client/browser.ts";
import { previewUrl } from "../connection/access.ts";
import { describeFailure } from "../connection/describe-error.ts";
import { toast } from "../ui/toast.tsx";

export type Port = Result<"process/ports">["ports"][number];

/** Shows what listens on a port in a new tab, on an origin of its own. */
export async function openPort({ port, host }: Port): Promise<void> {
  // Browsers block a tab that opens later than the click.
  const tab = window.open("about:blank", "_blank");
  try {
    const url = await previewUrl({ port, host });
    if (tab === null) throw new Error("the browser has blocked the new tab; allow this page to open tabs");
    tab.opener = null;
    // Without a history entry that would lead back to an empty page.
    tab.location.replace(url);
  } catch (error) {
    tab?.close();
    toast({ kind: "bad", ...describeFailure(`Port ${port} was not opened`, error) });
  }
}
