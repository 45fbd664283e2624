import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  /** Gets the ids that tie the control to its label and its explanation. */
  readonly children: (ids: {
    readonly id: string;
    readonly "aria-describedby": string | undefined;
    readonly "aria-invalid": boolean;
  }) => ComponentChildren;
}

/** A control with its label, and the problem with its value. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const text = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        "aria-describedby": text === undefined ? undefined : `${id}-text`,
        "aria-invalid": error !== undefined,
      })}
      {text === undefined ? null : (
        <p
          id={`${id}-text`}
          class={error === undefined ? "hint" : "hint bad"}
          role={error === undefined ? undefined : "alert"}
        >
          {text}
        </p>
      )}
    </div>
  );
}

/** For text of programs: in a monospaced font, without autocorrection and completion. */
export const CODE_INPUT = { class: "code", type: "text", spellcheck: false, autocomplete: "off" } as const;

/** For events of a control: writes its value into a signal. */
export function writeTo(signal: Signal<string>) {
  return (event: { readonly currentTarget: { readonly value: string } }): void => {
    signal.value = event.currentTarget.value;
  };
}

/** True if the user types there or has opened it: an element that loads late must not steal the focus. */
export function keepsFocus(element: Element | null): boolean {
  return element?.closest("input, textarea, dialog, [contenteditable=true], .menu") != null;
}
