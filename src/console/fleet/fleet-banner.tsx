import { connectNow, serverLink } from "../connection/server-link.ts";
import { Icon } from "../ui/icon.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { fleet } from "./fleet-link.ts";

/** Says that what is shown is old, and why. */
export function FleetBanner() {
  const isLost = serverLink.state.value !== "connected";
  const text = isLost ? goneText() : TEXTS[fleet.nats.value];
  return (
    <div role="status" aria-live="polite">
      {text === undefined ? null : (
        <div class="banner">
          <Icon name="warning" />
          <p>{text}</p>
          {isLost ? (
            <button class="banner-action" type="button" onClick={connectNow}>
              Try now
            </button>
          ) : null}
        </div>
      )}
    </div>
  );
}

const TEXTS = {
  connected: undefined,
  recovering:
    "NATS cannot be reached. Reconnecting; the list shows what was known before, and what runs on the machines goes on.",
  closed: "The connection to NATS has ended for good. Start the command that serves this page again.",
} as const;

function goneText(): string {
  const command = `exec-server -H ${visibleText(fleet.name.value)} open`;
  return `The program that serves this page does not answer. If it has ended, start it again: ${command}`;
}
