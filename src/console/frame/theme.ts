import { computed, effect, signal } from "@preact/signals";

const KEY = "exec-server-theme";

type Theme = "light" | "dark";

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

/** Undefined if the page follows the system. */
const chosen = signal<Theme | undefined>(stored());
const system = signal<Theme>(systemIsDark.matches ? "dark" : "light");
systemIsDark.addEventListener("change", ({ matches }) => {
  system.value = matches ? "dark" : "light";
});

/** The current theme. Terminals and editors follow it. */
export const theme = computed(() => chosen.value ?? system.value);

/** Changes between light and dark. Choosing what the system has follows the system again. */
export function switchTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  chosen.value = next === system.value ? undefined : next;
}

/** Applies the choice, and keeps it. */
export function applyTheme(): void {
  effect(() => {
    if (chosen.value === undefined) {
      delete document.documentElement.dataset["theme"];
      localStorage.removeItem(KEY);
    } else {
      document.documentElement.dataset["theme"] = chosen.value;
      localStorage.setItem(KEY, chosen.value);
    }
  });
}

function stored(): Theme | undefined {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : undefined;
}
