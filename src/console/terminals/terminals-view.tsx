import { ViewFrame } from "../shell/view-frame.tsx";
import type { ViewProps } from "../shell/view.ts";
import { EmptyState } from "../ui/empty-state.tsx";

export default function TerminalsView(_props: ViewProps) {
  return (
    <ViewFrame title="Terminals">
      <EmptyState
        icon="terminal"
        title="No terminal is open"
        text="Open one to work on the machine of the server."
      />
    </ViewFrame>
  );
}
