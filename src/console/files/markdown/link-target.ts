import { resolvePath } from "../../frame/paths.ts";

/** Where a link of a Markdown file may lead. */
export type LinkTarget =
  | { readonly kind: "web"; readonly href: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "heading"; readonly id: string };

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** What browsers ignore or take for a slash in an address, so that `java\nscript:` is a scheme. */
const AMBIGUOUS = /[\p{Cc}\\]/u;

/** The target of a link in a file of a directory; undefined if it must stay text. */
export function linkTarget(url: string, directory: string): LinkTarget | undefined {
  if (url === "" || AMBIGUOUS.test(url) || url.startsWith("//")) return undefined;
  if (SCHEME.test(url)) return webTarget(url);
  if (url.startsWith("#")) return { kind: "heading", id: headingId(decoded(url.slice(1)) ?? "") };
  const path = decoded(url.split(/[?#]/, 1)[0]!);
  return path === undefined || path === "" ? undefined : { kind: "file", path: resolvePath(directory, path) };
}

/** The id of a heading, and of links to it. The prefix keeps it apart from the ids of the page. */
export function headingId(text: string): string {
  const slug = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/gu, "-");
  return `heading-${encodeURIComponent(slug)}`;
}

function webTarget(url: string): LinkTarget | undefined {
  try {
    const { protocol, href } = new URL(url);
    return protocol === "http:" || protocol === "https:" ? { kind: "web", href } : undefined;
  } catch {
    return undefined;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
