import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { IconButton } from "./button.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly size?: "small" | "medium" | "large";
  /** Without a head; the title is then only read out. */
  readonly bare?: boolean;
}

/** A dialog above the page. The focus stays inside, and goes back to where it was. */
export function Dialog({ title, onClose, children, size = "small", bare = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the next key, which is meant for it.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
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
