import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Badge } from "../ui/badge.tsx";
import { formatMs } from "../ui/format.ts";
import type { RequestState } from "./latest-request.ts";

export interface AnswerFrameProps {
  readonly state: RequestState<unknown>;
  /** Shown before the first request. */
  readonly idleText: string;
  /** Badge with the outcome. */
  readonly badge: ComponentChildren;
  /** Further contents of the head. */
  readonly head: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The answer, below its duration. */
export function AnswerFrame({ state, idleText, badge, head, children }: AnswerFrameProps) {
  const { kind, startedMs, tookMs } = state;
  // A response takes the room of an answer also while it streams.
  const room = state.answer === undefined ? kind : "answered";
  return (
    <section class={`insp-answer ${room}`} aria-label="Answer" aria-live="polite">
      {kind === "idle" ? (
        <p class="insp-nothing">{idleText}</p>
      ) : (
        <header class="insp-answer-head">
          {badge}
          {kind === "stopped" ? <Badge kind="warn">stopped</Badge> : null}
          {kind === "running" ? (
            <Waiting sinceMs={startedMs} />
          ) : (
            <span class="number hint">{formatMs(tookMs)}</span>
          )}
          {head}
        </header>
      )}
      {children}
    </section>
  );
}

/** How long the request has been waiting. */
function Waiting({ sinceMs }: { readonly sinceMs: number }) {
  const now = useSignal(performance.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = performance.now();
    }, 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <Badge kind="accent">waiting</Badge>
      <span class="number hint">{formatMs(Math.max(0, now.value - sinceMs))}</span>
    </>
  );
}
