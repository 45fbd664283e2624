import type { FunctionComponent } from "preact";
import type { IconName } from "../ui/icon.tsx";

/** Props of a view: its part of the path, which is its whole state, so that it can be shared. */
export interface ViewProps {
  readonly path: string;
}

export interface View {
  readonly title: string;
  readonly icon: IconName;
  /** A slash and a letter. Its paths are this one and those below, and `g` and the letter go there. */
  readonly path: string;
  /** Visible to users with one of these rights. */
  readonly rights: readonly string[];
  readonly load: () => Promise<{ readonly default: FunctionComponent<ViewProps> }>;
}

/** The view that a path belongs to; the first one is at the root, too. */
export function viewOf<V extends Pick<View, "path">>(path: string, views: readonly V[]): V | undefined {
  if (path === "/") return views[0];
  return views.find((view) => path === view.path || path.startsWith(`${view.path}/`));
}
