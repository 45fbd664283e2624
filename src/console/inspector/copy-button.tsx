import { useSignal } from "@preact/signals";
import { serverLink } from "../connection/server-link.ts";
import { useCommands } from "../shell/commands.ts";
import { copyText } from "../terminals/copy-text.ts";
import { IconButton } from "../ui/button.tsx";
import { Menu } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import type { CopiedTarget } from "./copy-code.ts";

/** One of the ways to copy a request. */
export interface Copied {
  readonly id: string;
  readonly title: string;
  /** What is in the clipboard then. */
  readonly what: string;
  readonly text: () => string;
}

/** Copies a request, in one of several ways. */
export function CopyButton({ copies }: { readonly copies: readonly Copied[] }) {
  const at = useSignal<Element | undefined>(undefined);
  const items = copies.map(({ id, title, what, text }) => ({
    id,
    title,
    run: () => void copyAndSay(text(), what),
  }));
  useCommands(() => items.map((item) => ({ ...item, group: "Inspector" })));
  return (
    <>
      <IconButton
        icon="copy"
        label="Copy the request"
        onClick={(event) => {
          at.value = event.currentTarget as Element;
        }}
      />
      {at.value === undefined ? null : (
        <Menu
          label="Copy the request"
          at={at.value}
          items={items}
          onClose={() => {
            at.value = undefined;
          }}
        />
      )}
    </>
  );
}

/** The server of this page, as a program reaches it. */
export function copiedTarget(): CopiedTarget {
  return {
    url: `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/`,
    needsToken: serverLink.server.value?.authentication === "token",
  };
}

/** Copies a text, and says so. */
export async function copyAndSay(text: string, what: string): Promise<void> {
  try {
    await copyText(text);
    toast({ kind: "good", text: `${what} is in the clipboard.` });
  } catch {
    toast({
      kind: "bad",
      text: "The browser did not allow it to copy.",
      remedy: "Click into the page, and try again.",
    });
  }
}
