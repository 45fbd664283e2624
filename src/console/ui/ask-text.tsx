import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Field, writeTo } from "./field.tsx";

export interface TextQuestion {
  readonly title: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly value?: string;
  /** Length of the initial selection. Default: everything. */
  readonly selected?: number;
  /** Label of the button, a verb. */
  readonly action: string;
  readonly text?: ComponentChildren;
  /** Problem with a value; undefined if there is none. */
  readonly check?: (value: string) => string | undefined;
}

interface Asked extends TextQuestion {
  readonly answer: (value: string | undefined) => void;
}

const asked = signal<Asked | undefined>(undefined);

/** Asks for a line of text; undefined if the user cancels. */
export function askText(question: TextQuestion): Promise<string | undefined> {
  asked.value?.answer(undefined);
  return new Promise((resolve) => {
    asked.value = { ...question, answer: resolve };
  });
}

/** The place of these questions, once in a view. */
export function TextQuestions() {
  const question = asked.value;
  return question === undefined ? null : <AskedText key={question.title} question={question} />;
}

function AskedText({ question }: { readonly question: Asked }) {
  const value = useSignal(question.value ?? "");
  const isTried = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  // Before the next key, which belongs to it.
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.setSelectionRange(0, question.selected ?? value.value.length);
  }, []);
  const answer = (text: string | undefined): void => {
    asked.value = undefined;
    question.answer(text);
  };
  const error = question.check?.(value.value);
  return (
    <Dialog title={question.title} onClose={() => answer(undefined)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          isTried.value = true;
          if (error === undefined) answer(value.value);
        }}
      >
        <div class="dialog-text">
          {question.text}
          <Field
            label={question.label}
            hint={question.hint}
            error={isTried.value || value.value !== (question.value ?? "") ? error : undefined}
          >
            {(ids) => (
              <input
                {...ids}
                ref={input}
                autocomplete="off"
                spellcheck={false}
                value={value.value}
                onInput={writeTo(value)}
              />
            )}
          </Field>
        </div>
        <footer class="dialog-actions">
          <Button onClick={() => answer(undefined)}>Cancel</Button>
          <Button kind="primary" type="submit">
            {question.action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
