import { signal, useSignalEffect } from "@preact/signals";
import { connectNow, serverLink } from "../connection/server-link.ts";
import { Icon } from "../ui/icon.tsx";

/** Shorter interruptions are not worth a banner. */
const SHOWN_AFTER_MS = 400;

const isShown = signal(false);
const now = signal(Date.now());

/** Says that the connection is lost, and what is being done about it. */
export function Banner() {
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
  return (
    <div role="status" aria-live="polite">
      {isShown.value ? (
        <div class="banner">
          <Icon name="warning" />
          <p>{state.value === "recovering" ? RECOVERING : lostText()}</p>
          {state.value === "lost" ? (
            <button class="banner-action" type="button" onClick={connectNow}>
              Try now
            </button>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

const RECOVERING =
  "The connection was lost. Reconnecting; processes go on, and their output will be here when it is back.";

function lostText(): string {
  const next = serverLink.nextAttemptMs.value;
  const seconds = next === undefined ? 0 : Math.ceil((next - now.value) / 1000);
  const when = seconds > 1 ? `Trying again in ${seconds} seconds.` : "Trying to reach it.";
  return `The server is gone, or was restarted. ${when}`;
}
