import type { RefObject } from "preact";

export interface FilterFieldProps {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly value: string;
  readonly onInput: (text: string) => void;
  /** Opens the first entry that is left. */
  readonly onOpen: () => void;
}

/** Narrows the list while one types. Enter opens what is first. */
export function FilterField({ field, value, onInput, onOpen }: FilterFieldProps) {
  const focusList = (): void => document.querySelector<HTMLElement>(".files-list")?.focus();
  return (
    <input
      ref={field}
      class="files-filter"
      type="search"
      aria-label="Filter by name"
      placeholder="Filter  /"
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          onInput("");
          focusList();
        } else if (event.key === "Enter") onOpen();
        else if (event.key === "ArrowDown") focusList();
        else return;
        event.preventDefault();
      }}
    />
  );
}
