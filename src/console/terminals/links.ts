/** The address of a link that may be opened: other schemes could run something, here or on the person's machine. */
export function safeAddress(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Opens a link that a person clicked. The page behind it learns nothing about this one. */
export function openLink(text: string): void {
  const url = safeAddress(text);
  if (url !== undefined) window.open(url.href, "_blank", "noopener,noreferrer");
}
