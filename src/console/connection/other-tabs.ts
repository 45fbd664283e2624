import { storedSecret } from "./access.ts";

/** Only pages of this very origin, with its port, can use it. */
const CHANNEL = "exec-server-secret";
/** Another tab answers at once, or does not exist. */
const WAIT_MS = 150;
/** Or the machine is busy. */
const LATE_MS = 10_000;

type TabMessage = { readonly kind: "ask" } | { readonly kind: "answer"; readonly secret: string };

/** Gives the secret of this tab to tabs that ask, so that an address of the page can be opened in a new one. */
export function answerOtherTabs(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    const secret = storedSecret();
    if (data.kind === "ask" && secret !== undefined) post(channel, { kind: "answer", secret });
  });
}

/** The secret of another tab, if one has it. A late answer is passed to `onLate`. */
export async function askOtherTabs(onLate: (secret: string) => void): Promise<string | undefined> {
  const channel = new BroadcastChannel(CHANNEL);
  setTimeout(() => channel.close(), LATE_MS);
  return new Promise((resolve) => {
    let isLate = false;
    setTimeout(() => {
      isLate = true;
      resolve(undefined);
    }, WAIT_MS);
    channel.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
      if (data.kind !== "answer") return;
      channel.close();
      if (isLate) onLate(data.secret);
      else resolve(data.secret);
    });
    post(channel, { kind: "ask" });
  });
}

function post(channel: BroadcastChannel, message: TabMessage): void {
  // A channel is within one origin, unlike a window.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  channel.postMessage(message);
}
