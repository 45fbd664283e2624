import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

export interface Question {
  readonly title: string;
  readonly text?: ComponentChildren;
  /** Label of the confirming button, a verb. */
  readonly action: string;
  readonly danger?: boolean;
}

interface Asked extends Question {
  readonly answer: (yes: boolean) => void;
}

const asked = signal<Asked | undefined>(undefined);

/** Asks for confirmation. A new question replaces a pending one, which counts as declined. */
export function confirm(question: Question): Promise<boolean> {
  asked.value?.answer(false);
  return new Promise((resolve) => {
    asked.value = { ...question, answer: resolve };
  });
}

/** The place of questions, once in the page. */
export function Questions() {
  const question = asked.value;
  if (question === undefined) return null;
  const answer = (yes: boolean): void => {
    asked.value = undefined;
    question.answer(yes);
  };
  return (
    <Dialog title={question.title} onClose={() => answer(false)}>
      {question.text === undefined ? null : <div class="dialog-text">{question.text}</div>}
      <footer class="dialog-actions">
        <Button onClick={() => answer(false)}>Cancel</Button>
        <Button kind={question.danger ? "danger" : "primary"} onClick={() => answer(true)}>
          {question.action}
        </Button>
      </footer>
    </Dialog>
  );
}
