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
  document.execCommand("copy");
  removeEventListener("copy", onCopy, { capture: true });
}
