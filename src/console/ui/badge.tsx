import type { ComponentChildren } from "preact";

export interface BadgeProps {
  readonly kind?: "plain" | "good" | "warn" | "bad" | "accent";
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** A short state or kind. */
export function Badge({ kind = "plain", title, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`} title={title}>
      {children}
    </span>
  );
}
