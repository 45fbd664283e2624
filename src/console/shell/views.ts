import type { View } from "./view.ts";

/** The views, in the order of the rail. The first is where the page opens. */
export const VIEWS: readonly View[] = [
  {
    id: "processes",
    title: "Processes",
    icon: "processes",
    path: "/p",
    key: "p",
    load: () => import("../processes/processes-view.tsx"),
  },
  {
    id: "terminals",
    title: "Terminals",
    icon: "terminal",
    path: "/t",
    key: "t",
    load: () => import("../terminals/terminals-view.tsx"),
  },
  {
    id: "files",
    title: "Files",
    icon: "folder",
    path: "/f",
    key: "f",
    load: () => import("../files/files-view.tsx"),
  },
  {
    id: "rows",
    title: "Rows",
    icon: "rows",
    path: "/r",
    key: "r",
    load: () => import("../rows/rows-view.tsx"),
  },
  {
    id: "system",
    title: "System",
    icon: "system",
    path: "/s",
    key: "s",
    load: () => import("../system/system-view.tsx"),
  },
];

/** The view of a path. */
export function viewAt(path: string): View | undefined {
  if (path === "/") return VIEWS[0];
  return VIEWS.find((view) => path === view.path || path.startsWith(`${view.path}/`));
}
