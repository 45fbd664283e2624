import { useHost } from "../connection/use-host.ts";
import { below } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import styles from "./system.css";
import { AuditLines } from "./audit-lines.tsx";
import { LimitTable } from "./limit-table.tsx";
import { Metrics } from "./metrics.tsx";
import { SessionTable } from "./session-table.tsx";

document.adoptedStyleSheets.push(styles);

const PARTS = [
  { id: "", title: "Sessions", Part: SessionTable },
  { id: "limits", title: "Limits", Part: LimitTable },
  { id: "metrics", title: "Metrics", Part: Metrics },
  { id: "audit", title: "Audit", Part: AuditLines },
] as const;

/** The operator's view. */
export default function SystemView({ path }: ViewProps) {
  const id = below("/s", path) ?? "";
  const part = PARTS.find((each) => each.id === id);
  const host = useHost();
  if (!host.supports("server/sessions"))
    return (
      <ViewFrame title="System">
        <EmptyState icon="system" title="Not on this server" text="This server does not report its state." />
      </ViewFrame>
    );
  return (
    <ViewFrame
      title="System"
      actions={
        <nav class="view-parts" aria-label="Parts of the system view">
          {PARTS.map((each) => (
            <a
              key={each.id}
              href={each.id === "" ? "/s" : `/s/${each.id}`}
              aria-current={each === part ? "page" : undefined}
            >
              {each.title}
            </a>
          ))}
        </nav>
      }
    >
      {part === undefined ? (
        <EmptyState
          icon="search"
          title="There is nothing here"
          text="This address does not belong to any part of this view."
        />
      ) : (
        <part.Part />
      )}
    </ViewFrame>
  );
}
