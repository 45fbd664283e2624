import { ViewFrame } from "../shell/view-frame.tsx";
import type { ViewProps } from "../shell/view.ts";
import { EmptyState } from "../ui/empty-state.tsx";

export default function ProcessesView(_props: ViewProps) {
  return (
    <ViewFrame title="Processes">
      <EmptyState icon="processes" title="Nothing runs yet" text="Start a command, and it is listed here." />
    </ViewFrame>
  );
}
