import type { FunctionComponent } from "preact";
import type { IconName } from "../ui/icon.tsx";

/** What a view gets: its own part of the path, and the path is its state, so that it can be sent to somebody. */
export interface ViewProps {
  readonly path: string;
}

export interface View {
  readonly id: string;
  readonly title: string;
  readonly icon: IconName;
  /** Its paths are this one and those below. */
  readonly path: string;
  /** The second key after `g`. */
  readonly key: string;
  /** It has something to show for whoever has one of these rights. */
  readonly rights: readonly string[];
  readonly load: () => Promise<{ readonly default: FunctionComponent<ViewProps> }>;
}

/** The view that a path belongs to; the first one is at the root, too. */
export function viewOf<V extends Pick<View, "path">>(path: string, views: readonly V[]): V | undefined {
  if (path === "/") return views[0];
  return views.find((view) => path === view.path || path.startsWith(`${view.path}/`));
}
