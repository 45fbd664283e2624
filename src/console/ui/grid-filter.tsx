import type { Signal } from "@preact/signals";
import type { Ref } from "preact";
import { writeTo } from "./field.tsx";

export interface GridFilterProps {
  readonly field: Ref<HTMLInputElement>;
  readonly label: string;
  readonly filter: Signal<string>;
}

/** Filters the grid of a view. Enter goes there, and so does Escape, without the filter. */
export function GridFilter({ field, label, filter }: GridFilterProps) {
  return (
    <input
      ref={field}
      class="grid-filter"
      type="search"
      aria-label={label}
      placeholder="Filter  /"
      spellcheck={false}
      value={filter.value}
      onInput={writeTo(filter)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" && event.key !== "Enter") return;
        if (event.key === "Escape") filter.value = "";
        // The keys of the list work from here.
        const view = event.currentTarget.closest(".view");
        view?.querySelector<HTMLElement>("[role=grid]")?.focus();
      }}
    />
  );
}
