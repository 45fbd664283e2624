import { useSignal } from "@preact/signals";
import type { ListedProcess } from "../../client/browser.ts";
import { describeFailure } from "../connection/describe-error.ts";
import { Button } from "../ui/button.tsx";
import { toast } from "../ui/toast.tsx";
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
  const attempt = async (failure: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      toast({ kind: "bad", ...describeFailure(failure, error) });
    }
  };
  const send = (event: Event): void => {
    event.preventDefault();
    const line = `${text.value}\n`;
    text.value = "";
    void attempt("The line was not sent", () => process.write(line));
  };
  return (
    <form class="out-input" onSubmit={send}>
      <input
        class="code"
        type="text"
        aria-label="Input"
        placeholder={isEnded.value ? "Its input has ended" : "Type a line for the process"}
        autocomplete="off"
        spellcheck={false}
        disabled={isEnded.value}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <Button type="submit" disabled={isEnded.value}>
        Send
      </Button>
      <Button
        kind="quiet"
        disabled={isEnded.value}
        title="Tells the process that nothing more follows"
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
