import type { ListedProcess } from "../../client/browser.ts";
import { visibleText } from "../../base/visible-text.ts";

const WORDS = { running: "running", exited: "draining", closed: "ended" } as const;

/** The state of a process in a word, and how it ended. */
export function ProcessState({ listed }: { readonly listed: ListedProcess }) {
  const { state } = listed;
  const ending = state === "running" ? undefined : (listed.signal ?? listed.exitCode ?? undefined);
  return (
    <span class={`proc-state ${kindOf(listed)}`}>
      <span class="dot" />
      {WORDS[state]}
      {ending === undefined ? null : <span class="proc-exit number">{visibleText(String(ending))}</span>}
    </span>
  );
}

function kindOf({ state, exitCode, signal }: ListedProcess): "good" | "warn" | "plain" | "bad" {
  if (state === "running") return "good";
  if (signal !== undefined) return "warn";
  return exitCode === 0 ? "plain" : "bad";
}
