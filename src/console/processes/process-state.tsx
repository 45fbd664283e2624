import type { ListedProcess } from "../../client/browser.ts";
import { visibleText } from "../../base/visible-text.ts";

export interface DescribedState {
  readonly kind: "good" | "plain" | "bad" | "warn";
  readonly word: string;
  readonly detail: string | undefined;
}

/** The state of a process in a word, and how it ended. */
function describeState({ state, exitCode, signal }: ListedProcess): DescribedState {
  if (state === "running") return { kind: "good", word: "running", detail: undefined };
  const word = state === "exited" ? "draining" : "ended";
  if (signal !== undefined) return { kind: "warn", word, detail: signal };
  return {
    kind: exitCode === 0 ? "plain" : "bad",
    word,
    detail: exitCode === null ? undefined : String(exitCode),
  };
}

export function ProcessState({ listed }: { readonly listed: ListedProcess }) {
  const { kind, word, detail } = describeState(listed);
  return (
    <span class={`proc-state ${kind}`}>
      <span class="proc-dot" />
      {word}
      {detail === undefined ? null : <span class="proc-exit number">{visibleText(detail)}</span>}
    </span>
  );
}
