import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

export interface EmptyStateProps {
  readonly icon: IconName;
  readonly title: string;
  /** What to do, in a sentence. */
  readonly text: ComponentChildren;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

/** Placeholder for an empty view. */
export function EmptyState({ icon, title, text, children }: EmptyStateProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{text}</p>
      {children === undefined ? null : <div class="empty-actions">{children}</div>}
    </div>
  );
}
