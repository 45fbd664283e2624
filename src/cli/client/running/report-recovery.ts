import { after } from "../../../base/duration.ts";
import type { Host } from "../../../client/host/host.ts";
import { writeErr } from "../../shared/standard-streams.ts";

/** A shorter interruption is not worth a line. */
const PATIENCE_MS = 1_000;

/** Says on the terminal why nothing happens while the connection is lost. */
export function reportRecovery(host: Host): void {
  if (!process.stderr.isTTY) return;
  let isNoticeShown = false;
  let cancel = (): void => {};
  const print = (text: string): void => {
    isNoticeShown = !isNoticeShown;
    writeErr(`exec-server: ${text}\n`);
  };
  host.onStateChange((state) => {
    cancel();
    if (state === "recovering") cancel = after(PATIENCE_MS, () => print("connection lost, reconnecting"));
    else if (state === "connected" && isNoticeShown) print("connected again");
  });
}
