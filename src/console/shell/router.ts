import { computed, signal } from "@preact/signals";

const location_ = signal(location.pathname);

/** The path of the page, as in the address bar. */
export const path = computed(() => location_.value);

/** Shows another view. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (to === location.pathname) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  location_.value = location.pathname;
}

/** Follows the buttons of the browser, and links within the page, without loading it again. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    location_.value = location.pathname;
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest("a");
    if (!(link instanceof HTMLAnchorElement) || link.origin !== location.origin) return;
    const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
    if (opensElsewhere || link.target !== "" || link.hasAttribute("download")) return;
    event.preventDefault();
    navigate(link.pathname);
  });
}

/** The part of a path after a prefix, decoded; undefined if it is another path, or cannot be decoded. */
export function below(prefix: string, whole: string): string | undefined {
  if (!whole.startsWith(`${prefix}/`)) return undefined;
  try {
    return whole
      .slice(prefix.length + 1)
      .split("/")
      .map((part) => decodeURIComponent(part))
      .join("/");
  } catch {
    return undefined;
  }
}

/** The path of something below a prefix. Slashes in its name stay slashes. */
export function pathTo(prefix: string, name: string): string {
  const parts = name.split("/").map((part) => encodeURIComponent(part));
  return `${prefix}/${parts.join("/")}`;
}
