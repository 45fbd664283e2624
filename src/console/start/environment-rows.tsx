import type { Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, IconButton } from "../ui/button.tsx";
import { CODE_INPUT } from "../ui/field.tsx";

export interface Variable {
  readonly id: number;
  readonly name: string;
  readonly value: string;
}

export interface EnvironmentRowsProps {
  readonly variables: Signal<readonly Variable[]>;
  readonly fault: string | undefined;
  readonly onEdit: () => void;
}

let lastId = 0;

/** Variables that are set on top of the server's environment. */
export function EnvironmentRows({ variables, fault, onEdit }: EnvironmentRowsProps) {
  const rows = useRef<HTMLFieldSetElement>(null);
  const isAdded = useRef(false);
  // Before the next key, which belongs to it.
  useLayoutEffect(() => {
    if (isAdded.current)
      rows.current?.querySelector<HTMLElement>(".start-variable:last-of-type input")?.focus();
    isAdded.current = false;
  }, [variables.value.length]);
  const change = (id: number, changed: Partial<Variable>): void => {
    onEdit();
    variables.value = variables.value.map((variable) =>
      variable.id === id ? { ...variable, ...changed } : variable,
    );
  };
  return (
    <fieldset class="start-environment" ref={rows}>
      <legend>Environment</legend>
      {variables.value.map(({ id, name, value }) => (
        <div key={id} class="start-variable">
          <input
            {...CODE_INPUT}
            aria-label="Name of a variable"
            aria-invalid={fault !== undefined}
            placeholder="NAME"
            value={name}
            onInput={(event) => change(id, { name: event.currentTarget.value.trim() })}
          />
          <input
            {...CODE_INPUT}
            aria-label={`Value of ${name}`}
            placeholder="value"
            value={value}
            onInput={(event) => change(id, { value: event.currentTarget.value })}
          />
          <IconButton
            icon="close"
            label={`Remove ${name}`}
            onClick={() => {
              onEdit();
              variables.value = variables.value.filter((variable) => variable.id !== id);
            }}
          />
        </div>
      ))}
      {fault === undefined ? null : (
        <p class="hint bad" role="alert">
          {fault}
        </p>
      )}
      <Button
        kind="quiet"
        icon="plus"
        onClick={() => {
          isAdded.current = true;
          variables.value = [...variables.value, { id: ++lastId, name: "", value: "" }];
        }}
      >
        Add a variable
      </Button>
    </fieldset>
  );
}
