import type { ComponentChildren } from "preact";

export interface ViewFrameProps {
  readonly title: ComponentChildren;
  /** Buttons and filters, at the right of the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The head that every view has, above what it shows. */
export function ViewFrame({ title, actions, children }: ViewFrameProps) {
  return (
    <section class="view">
      <header class="view-head">
        <h1>{title}</h1>
        <div class="view-actions">{actions}</div>
      </header>
      {/* It scrolls, by keys as well. */}
      <div class="view-body" tabIndex={0}>
        {children}
      </div>
    </section>
  );
}
