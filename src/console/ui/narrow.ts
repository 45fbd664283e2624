import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 760px)");

/** Whether the page is as narrow as on a phone. */
export const isNarrow = signal(query.matches);
query.addEventListener("change", ({ matches }) => {
  isNarrow.value = matches;
});
