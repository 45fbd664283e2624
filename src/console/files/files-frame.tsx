import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useCommands } from "../shell/commands.ts";
import { visibleText } from "../ui/visible-text.ts";
import { Breadcrumb } from "./breadcrumb.tsx";

export interface FilesFrameProps {
  readonly path: string;
  readonly home: string;
  /** Where typed paths start. */
  readonly directory: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Below everything. */
  readonly foot?: ComponentChildren;
}

/** The head with the path, above a directory or a file. */
export function FilesFrame({ path, home, directory, actions, children, foot }: FilesFrameProps) {
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
        <div class="view-actions">{actions}</div>
      </header>
      <div class="view-body files-body">{children}</div>
      {foot}
    </section>
  );
}
