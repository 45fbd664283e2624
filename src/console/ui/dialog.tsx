import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { IconButton } from "./button.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly size?: "small" | "medium" | "large";
  /** Without a head; the title is then only read out. */
  readonly bare?: boolean;
}

/** A dialog above the page. The browser keeps the focus inside, and gives it back. */
export function Dialog({ title, onClose, children, size = "small", bare = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
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
