import type { SearchAddon } from "@xterm/addon-search";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { theme } from "../frame/theme.ts";
import { IconButton } from "../ui/button.tsx";
import { toast } from "../ui/toast.tsx";
import type { PaneModel } from "./pane-model.ts";
import { terminalColours } from "./terminal-colours.ts";

/** Finds text on the screen and above it. */
export function SearchBar({ model }: { readonly model: PaneModel }) {
  const field = useRef<HTMLInputElement>(null);
  const results = useSignal<{ resultIndex: number; resultCount: number } | undefined>(undefined);
  const isCaseSensitive = useSignal(false);
  const search = useSignal<SearchAddon | undefined>(undefined);
  const close = (): void => {
    model.isSearching.value = false;
    model.focus();
  };
  // Before the next key, which belongs to it.
  useLayoutEffect(() => field.current?.focus(), []);
  useEffect(() => {
    model.emulator.finder().then(
      (loaded) => {
        search.value = loaded;
      },
      () => {
        toast({ kind: "bad", text: "The search could not be loaded.", remedy: "Reload the page." });
        close();
      },
    );
  }, []);
  useEffect(() => {
    if (search.value === undefined) return undefined;
    const loaded = search.value;
    const listener = loaded.onDidChangeResults((changed) => {
      results.value = changed;
    });
    // Text typed in the meantime; and again in the colours of another theme.
    find("previous", true);
    return () => {
      listener.dispose();
      loaded.clearDecorations();
    };
  }, [search.value, theme.value]);
  const find = (way: "next" | "previous", incremental = false): void => {
    const text = field.current?.value ?? "";
    if (text === "") {
      search.value?.clearDecorations();
      results.value = undefined;
      return;
    }
    const { match, currentMatch } = terminalColours();
    const options = {
      caseSensitive: isCaseSensitive.value,
      incremental,
      decorations: {
        matchBackground: match,
        matchOverviewRuler: match,
        activeMatchBackground: currentMatch,
        activeMatchColorOverviewRuler: currentMatch,
      },
    };
    if (way === "next") search.value?.findNext(text, options);
    else search.value?.findPrevious(text, options);
  };
  const { resultIndex = -1, resultCount = 0 } = results.value ?? {};
  return (
    <search class="term-search">
      <input
        ref={field}
        type="search"
        aria-label="Find in this terminal"
        placeholder="Find in this terminal"
        spellcheck={false}
        onInput={() => find("previous", true)}
        onKeyDown={(event) => {
          if (event.key === "Escape") close();
          else if (event.key === "Enter") find(event.shiftKey ? "next" : "previous");
          else return;
          event.preventDefault();
        }}
      />
      <span class="hint number term-search-count" role="status">
        {results.value === undefined
          ? ""
          : resultCount === 0
            ? "None"
            : `${resultIndex < 0 ? "?" : resultIndex + 1} of ${resultCount}`}
      </span>
      <button
        class="icon-button term-case"
        type="button"
        aria-label="Match case"
        title="Match case"
        aria-pressed={isCaseSensitive.value}
        onClick={() => {
          isCaseSensitive.value = !isCaseSensitive.value;
          find("previous", true);
        }}
      >
        Aa
      </button>
      <IconButton icon="arrow-up" label="Previous" keys="Enter" onClick={() => find("previous")} />
      <IconButton icon="arrow-down" label="Next" keys="Shift+Enter" onClick={() => find("next")} />
      <IconButton icon="close" label="Close the search" keys="Esc" onClick={close} />
    </search>
  );
}
