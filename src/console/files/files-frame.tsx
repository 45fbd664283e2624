import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useCommands } from "../frame/commands.ts";
import { visibleText } from "../../base/visible-text.ts";
import { Breadcrumb } from "./breadcrumb.tsx";
import { JobList } from "./jobs/job-list.tsx";

export interface FilesFrameProps {
  readonly path: string;
  /** Base of typed paths. */
  readonly directory: string;
  readonly actions?: ComponentChildren;
  /** Tools after the actions, the same for every file. */
  readonly tools?: ComponentChildren;
  /** Note above the contents. */
  readonly note?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Below everything. */
  readonly foot?: ComponentChildren;
}

/** Shared by all files. */
export type FileFrame = Pick<FilesFrameProps, "path" | "directory" | "tools" | "note">;

/** The head with the path, above a directory or a file. */
export function FilesFrame({ path, directory, actions, tools, note, children, foot }: FilesFrameProps) {
  const isTyping = useSignal(false);
  const typePath = (): void => {
    isTyping.value = true;
  };
  useCommands(() => [{ id: "files-path", title: "Type a path", group: "Files", keys: "p", run: typePath }]);
  return (
    <section class="view">
      <header class="view-head files-view-head">
        <h1 class="hidden-text">Files: {visibleText(path)}</h1>
        <Breadcrumb path={path} directory={directory} isTyping={isTyping} />
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
