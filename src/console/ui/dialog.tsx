import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { IconButton } from "./button.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly size?: "small" | "medium" | "large";
  /** Without a head; only screen readers get the title. */
  readonly bare?: boolean;
}

const FIRST =
  "[autofocus], .dialog-body > :not(.dialog-head) :is(input, textarea, select, [tabindex='0']), .dialog-actions button:not(.danger)";

/** A dialog above the page. The focus stays inside, and goes back to where it was. */
export function Dialog({ title, onClose, children, size = "small", bare = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the next key, which belongs to it.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    // Focuses where the user continues, not the × of the head. The first of the buttons is harmless.
    (dialog?.querySelector<HTMLElement>(FIRST) ?? dialog)?.focus();
    return () => {
      dialog?.close();
      // The browser gives the focus back only if the dialog is still in the page.
      if (document.activeElement === document.body && before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${size}`}
      tabIndex={-1}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-body">
        <header class={bare ? "hidden-text" : "dialog-head"}>
          <h2 id={id}>{title}</h2>
          {bare ? null : <IconButton icon="close" label="Close" keys="Esc" onClick={onClose} />}
        </header>
        {children}
      </div>
    </dialog>
  );
}
