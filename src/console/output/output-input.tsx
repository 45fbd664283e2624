import { useSignal } from "@preact/signals";
import type { ListedProcess } from "../../client/browser.ts";
import { attempt } from "../connection/attempt.ts";
import { Button } from "../ui/button.tsx";
import { CODE_INPUT, writeTo } from "../ui/field.tsx";
import type { OutputFeed } from "./output-feed.ts";

export interface OutputInputProps {
  readonly listed: ListedProcess;
  readonly feed: OutputFeed;
}

/** Lines for a process that reads its input. */
export function OutputInput({ listed, feed }: OutputInputProps) {
  const text = useSignal("");
  const isEnded = useSignal(false);
  const process = feed.process.value;
  const takesInput = listed.hasInput === true && !listed.tty && listed.state === "running";
  if (!takesInput || process === undefined || !feed.hasControl.value) return null;
  const send = (event: Event): void => {
    event.preventDefault();
    const line = `${text.value}\n`;
    text.value = "";
    void attempt("The line was not sent", () => process.write(line));
  };
  return (
    <form class="out-input foot-bar" onSubmit={send}>
      <input
        {...CODE_INPUT}
        aria-label="Input"
        placeholder={isEnded.value ? "Its input is closed" : "Type a line for the process"}
        disabled={isEnded.value}
        value={text.value}
        onInput={writeTo(text)}
      />
      <Button type="submit" disabled={isEnded.value}>
        Send
      </Button>
      <Button
        kind="quiet"
        disabled={isEnded.value}
        title="Close the process's stdin"
        onClick={() =>
          void attempt("The input was not ended", async () => {
            await process.closeStdin();
            isEnded.value = true;
          })
        }
      >
        End input
      </Button>
    </form>
  );
}
