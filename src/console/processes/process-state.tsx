import type { ListedProcess } from "../../client/browser.ts";
import { visibleText } from "../../base/visible-text.ts";

/** The state of a process in a word, and how it ended if that was not the usual way. */
export function ProcessState({ listed }: { readonly listed: ListedProcess }) {
  const ending = listed.state === "running" ? undefined : (listed.signal ?? (listed.exitCode || undefined));
  return (
    <span class={`proc-state ${kindOf(listed)}`}>
      <span class="dot" />
      {wordOf(listed)}
      {ending === undefined ? null : <span class="proc-exit number">{visibleText(String(ending))}</span>}
    </span>
  );
}

function wordOf({ state, exitCode, signal }: ListedProcess): string {
  if (state !== "closed") return state === "running" ? "running" : "draining";
  return exitCode !== 0 && signal === undefined ? "exited" : "ended";
}

function kindOf({ state, exitCode, signal }: ListedProcess): "good" | "warn" | "plain" | "bad" {
  if (state === "running") return "good";
  if (signal !== undefined) return "warn";
  return exitCode === 0 ? "plain" : "bad";
}
