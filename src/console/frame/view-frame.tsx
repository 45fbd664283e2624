import type { ComponentChildren } from "preact";

export interface ViewFrameProps {
  readonly title: ComponentChildren;
  /** Buttons and filters, at the right of the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The head of every view, above its contents. */
export function ViewFrame({ title, actions, children }: ViewFrameProps) {
  return (
    <section class="view">
      <header class="view-head">
        <h1 class="one-line">{title}</h1>
        <div class="view-actions">{actions}</div>
      </header>
      {/* It scrolls, with the keyboard, too. */}
      <div class="view-body" tabIndex={0}>
        {children}
      </div>
    </section>
  );
}
