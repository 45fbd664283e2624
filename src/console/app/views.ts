import { isAllowed } from "../connection/server-link.ts";
import { type View, viewOf } from "../frame/view.ts";

/** The views, in the order of the rail. */
const VIEWS: readonly View[] = [
  {
    title: "Processes",
    icon: "processes",
    path: "/p",
    rights: ["follow"],
    load: () => import("../process-table/processes-view.tsx"),
  },
  {
    title: "Terminals",
    icon: "terminal",
    path: "/t",
    rights: ["follow"],
    load: () => import("../terminals/terminals-view.tsx"),
  },
  {
    title: "Files",
    icon: "folder",
    path: "/f",
    rights: ["readFiles"],
    load: () => import("../files/files-view.tsx"),
  },
  {
    title: "Ports",
    icon: "ports",
    path: "/o",
    rights: ["network"],
    load: () => import("../ports/ports-view.tsx"),
  },
  {
    title: "Inspector",
    icon: "inspector",
    path: "/i",
    // Everyone may ask what the server is.
    rights: ["info"],
    load: () => import("../inspector/inspector-view.tsx"),
  },
  {
    title: "Rows",
    icon: "rows",
    path: "/r",
    rights: ["follow", "readFiles"],
    load: () => import("../rows/rows-view.tsx"),
  },
  {
    title: "System",
    icon: "system",
    path: "/s",
    rights: ["operate"],
    load: () => import("../system/system-view.tsx"),
  },
];

/** Views that the user may use. The page opens with the first one. */
export function usableViews(): readonly View[] {
  return VIEWS.filter(({ rights }) => rights.some((right) => isAllowed(right)));
}

/** The view of a path. */
export function viewAt(path: string): View | undefined {
  return (path === "/" ? usableViews()[0] : undefined) ?? viewOf(path, VIEWS);
}
