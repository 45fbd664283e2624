import { isAllowed } from "../connection/server-link.ts";
import { type View, viewOf } from "../frame/view.ts";

/** The views, in the order of the rail. */
const VIEWS: readonly View[] = [
  {
    id: "processes",
    title: "Processes",
    icon: "processes",
    path: "/p",
    key: "p",
    rights: ["follow"],
    load: () => import("../process-table/processes-view.tsx"),
  },
  {
    id: "terminals",
    title: "Terminals",
    icon: "terminal",
    path: "/t",
    key: "t",
    rights: ["follow"],
    load: () => import("../terminals/terminals-view.tsx"),
  },
  {
    id: "files",
    title: "Files",
    icon: "folder",
    path: "/f",
    key: "f",
    rights: ["readFiles"],
    load: () => import("../files/files-view.tsx"),
  },
  {
    id: "inspector",
    title: "Inspector",
    icon: "inspector",
    path: "/i",
    key: "i",
    // Everyone may ask what the server is.
    rights: ["info"],
    load: () => import("../inspector/inspector-view.tsx"),
  },
  {
    id: "rows",
    title: "Rows",
    icon: "rows",
    path: "/r",
    key: "r",
    rights: ["follow", "readFiles"],
    load: () => import("../rows/rows-view.tsx"),
  },
  {
    id: "system",
    title: "System",
    icon: "system",
    path: "/s",
    key: "s",
    rights: ["operate"],
    load: () => import("../system/system-view.tsx"),
  },
];

/** Those that the person may use. The first is where the page opens. */
export function usableViews(): readonly View[] {
  return VIEWS.filter(({ rights }) => rights.some((right) => isAllowed(right)));
}

/** The view of a path. */
export function viewAt(path: string): View | undefined {
  return (path === "/" ? usableViews()[0] : undefined) ?? viewOf(path, VIEWS);
}
