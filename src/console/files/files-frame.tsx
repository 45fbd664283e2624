import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useCommands } from "../frame/commands.ts";
import { visibleText } from "../../base/visible-text.ts";
import { Breadcrumb } from "./breadcrumb.tsx";
import { JobList } from "./jobs/job-list.tsx";

export interface FilesFrameProps {
  readonly path: string;
  readonly home: string;
  /** Where typed paths start. */
  readonly directory: string;
  readonly actions?: ComponentChildren;
  /** After the actions, the same for every file. */
  readonly tools?: ComponentChildren;
  /** Above what is shown. */
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Below everything. */
  readonly foot?: ComponentChildren;
}

/** What all files have in common. */
export type FileFrame = Pick<FilesFrameProps, "path" | "home" | "directory" | "tools" | "note">;

/** The head with the path, above a directory or a file. */
export function FilesFrame({ path, home, directory, actions, tools, note, children, foot }: FilesFrameProps) {
  const isTyping = useSignal(false);
  useCommands(() => [
    {
      id: "files-path",
      title: "Type a path",
      group: "Files",
      keys: "p",
      run: () => {
        isTyping.value = true;
      },
    },
  ]);
  return (
    <section class="view">
      <header class="view-head files-view-head">
        <h1 class="hidden-text">Files: {visibleText(path)}</h1>
        <Breadcrumb
          path={path}
          home={home}
          directory={directory}
          isTyping={isTyping.value}
          onTyping={(typing) => {
            isTyping.value = typing;
          }}
        />
        <div class="view-actions">
          {actions}
          {tools}
        </div>
      </header>
      <div class="view-body files-body">
        {note}
        {children}
      </div>
      <JobList />
      {foot}
    </section>
  );
}
