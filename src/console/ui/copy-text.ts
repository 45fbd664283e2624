import { toast } from "./toast.tsx";

/** Copies a text. The clipboard of browsers is only there on secure pages; others have the old way. */
export async function copyText(text: string): Promise<void> {
  // The type says that it is always there.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard !== undefined) return clipboard.writeText(text);
  const onCopy = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("copy", onCopy, { capture: true });
  const isCopied = document.execCommand("copy");
  removeEventListener("copy", onCopy, { capture: true });
  if (!isCopied) throw new Error("the browser did not copy");
}

/** Copies a text, and says so in a sentence, such as `The path was copied.` */
export async function copyAndSay(text: string, said: string): Promise<void> {
  try {
    await copyText(text);
    toast({ kind: "good", text: said });
  } catch {
    toast({
      kind: "bad",
      text: "The browser did not allow the page to copy.",
      remedy: "Click into the page and try again, or select the text and copy it with the keyboard.",
    });
  }
}
