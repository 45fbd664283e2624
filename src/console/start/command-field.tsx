import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { CODE_INPUT, Field } from "../ui/field.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { findPast, type PastStart } from "./history.ts";

const SHOWN = 6;

export interface CommandFieldProps {
  readonly line: Signal<string>;
  readonly past: readonly PastStart[];
  readonly fault: string | undefined;
  readonly onEdit: () => void;
  readonly onChoose: (past: PastStart) => void;
}

/** The command line, with matching earlier ones. */
export function CommandField({ line, past, fault, onEdit, onChoose }: CommandFieldProps) {
  const listId = useId();
  const isOpen = useSignal(false);
  const at = useSignal(-1);
  const matches = useComputed(() => findPast(past, line.value).slice(0, SHOWN));
  const isShown = isOpen.value && matches.value.length > 0;
  const close = (): void => {
    isOpen.value = false;
    at.value = -1;
  };
  const choose = (index: number): void => {
    const chosen = matches.value[index];
    if (chosen !== undefined) onChoose(chosen);
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const count = matches.value.length;
    if (event.key === "ArrowDown" && count > 0) {
      at.value = isShown ? (at.value + 1) % count : 0;
      isOpen.value = true;
    } else if (event.key === "ArrowUp" && isShown) at.value = (at.value <= 0 ? count : at.value) - 1;
    else if (event.key === "Enter" && isShown && at.value >= 0) choose(at.value);
    else if (event.key === "Escape" && isShown) {
      close();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  return (
    <Field label="Command" error={fault} hint="As in a terminal. The arrow keys recall earlier commands.">
      {(ids) => (
        <div class="start-command">
          <input
            {...ids}
            {...CODE_INPUT}
            role="combobox"
            aria-expanded={isShown}
            aria-controls={listId}
            aria-autocomplete="list"
            aria-activedescendant={isShown && at.value >= 0 ? `${listId}-${at.value}` : undefined}
            placeholder="npm test"
            autocapitalize="off"
            autofocus
            value={line.value}
            onInput={(event) => {
              line.value = event.currentTarget.value;
              isOpen.value = true;
              at.value = -1;
              onEdit();
            }}
            onBlur={close}
            onKeyDown={onKeyDown}
          />
          <ul id={listId} class="start-past" role="listbox" aria-label="Started before" hidden={!isShown}>
            {matches.value.map((item, index) => (
              <li
                key={`${item.cwd} ${item.line}`}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={index === at.value}
                onMouseDown={(event) => {
                  event.preventDefault();
                  choose(index);
                }}
              >
                <code class="one-line">{visibleText(item.line)}</code>
                <span class="one-line">{visibleText(item.cwd)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Field>
  );
}
