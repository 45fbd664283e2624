import { serverLink, webSocketUrl } from "../connection/server-link.ts";
import { useCommands } from "../frame/commands.ts";
import { copyAndSay } from "../ui/copy-text.ts";
import { MenuButton } from "../ui/menu-button.tsx";
import type { CopiedTarget } from "./copy-code.ts";

/** One of the ways to copy a request. */
export interface Copied {
  readonly id: string;
  readonly title: string;
  /** What the clipboard then contains. */
  readonly what: string;
  readonly text: () => string;
}

/** Copies a request, in one of several ways. */
export function CopyButton({ copies }: { readonly copies: readonly Copied[] }) {
  const items = copies.map(({ id, title, what, text }) => ({
    id,
    title,
    run: () => void copyAndSay(text(), `${what} was copied.`),
  }));
  useCommands(() => items.map((item) => ({ ...item, group: "Inspector" })));
  return <MenuButton icon="copy" label="Copy the request" items={items} />;
}

/** The server of this page, as a program reaches it. */
export function copiedTarget(): CopiedTarget {
  return {
    url: webSocketUrl(),
    needsToken: serverLink.server.value?.authentication === "token",
  };
}
