import { ViewFrame } from "../shell/view-frame.tsx";
import type { ViewProps } from "../shell/view.ts";
import { EmptyState } from "../ui/empty-state.tsx";

export default function FilesView(_props: ViewProps) {
  return (
    <ViewFrame title="Files">
      <EmptyState icon="folder" title="Files" text="Choose a directory." />
    </ViewFrame>
  );
}
