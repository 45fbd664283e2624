import { signal, useSignalEffect } from "@preact/signals";
import { serverLink } from "../connection/server-link.ts";
import { Banner } from "../frame/page-frame.tsx";

/** Shorter interruptions are not worth a banner. */
const SHOWN_AFTER_MS = 400;

const isShown = signal(false);
const now = signal(Date.now());

/** Reports a lost connection, and what the page does about it. */
export function ConnectionBanner() {
  const { state } = serverLink;
  useSignalEffect(() => {
    if (state.value !== "recovering" && state.value !== "lost") {
      isShown.value = false;
      return;
    }
    const timer = setTimeout(() => {
      isShown.value = true;
    }, SHOWN_AFTER_MS);
    const clock = setInterval(() => {
      now.value = Date.now();
    }, 250);
    return () => {
      clearTimeout(timer);
      clearInterval(clock);
    };
  });
  const text = state.value === "recovering" ? RECOVERING : lostText();
  return <Banner text={isShown.value ? text : undefined} mayConnect={state.value === "lost"} />;
}

const RECOVERING =
  "The connection was lost. Reconnecting; processes keep running, and their output will be here once it is back.";

function lostText(): string {
  const next = serverLink.nextAttemptMs.value;
  const seconds = next === undefined ? 0 : Math.ceil((next - now.value) / 1000);
  const when = seconds > 1 ? `Trying again in ${seconds} seconds.` : "Trying to reach it.";
  return `The server cannot be reached, or was restarted. ${when}`;
}
