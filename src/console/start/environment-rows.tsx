import type { Signal } from "@preact/signals";
import { Button, IconButton } from "../ui/button.tsx";

export interface Variable {
  readonly id: number;
  readonly name: string;
  readonly value: string;
}

export interface EnvironmentRowsProps {
  readonly variables: Signal<readonly Variable[]>;
  readonly fault: string | undefined;
}

let lastId = 0;

/** Variables that are set on top of the server's environment. */
export function EnvironmentRows({ variables, fault }: EnvironmentRowsProps) {
  const change = (id: number, changed: Partial<Variable>): void => {
    variables.value = variables.value.map((variable) =>
      variable.id === id ? { ...variable, ...changed } : variable,
    );
  };
  return (
    <fieldset class="start-environment">
      <legend>Environment</legend>
      {variables.value.map(({ id, name, value }) => (
        <div key={id} class="start-variable">
          <input
            class="code"
            type="text"
            aria-label="Name of a variable"
            placeholder="NAME"
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={(event) => change(id, { name: event.currentTarget.value.trim() })}
          />
          <input
            class="code"
            type="text"
            aria-label={`Value of ${name}`}
            placeholder="value"
            spellcheck={false}
            autocomplete="off"
            value={value}
            onInput={(event) => change(id, { value: event.currentTarget.value })}
          />
          <IconButton
            icon="close"
            label={`Remove ${name}`}
            onClick={() => {
              variables.value = variables.value.filter((variable) => variable.id !== id);
            }}
          />
        </div>
      ))}
      {fault === undefined ? null : <p class="hint bad">{fault}</p>}
      <Button
        kind="quiet"
        icon="plus"
        onClick={() => {
          variables.value = [...variables.value, { id: ++lastId, name: "", value: "" }];
        }}
      >
        Add a variable
      </Button>
    </fieldset>
  );
}
