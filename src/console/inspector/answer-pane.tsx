import { formatMs } from "../ui/format.ts";
import { ConnectionError, ExecError, RpcError } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { Badge } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { copyAndSay } from "../ui/copy-text.ts";
import { downloadBlob } from "../ui/download-blob.ts";
import { ErrorBox } from "../ui/error-box.tsx";
import type { Call, CallState } from "./call.ts";
import type { Json } from "./json-path.ts";
import { previewJson } from "./json-preview.ts";
import { JsonView } from "./json-view.tsx";
import { Waiting } from "./waiting.tsx";

/** What came back. */
export function AnswerPane({ call, name }: { readonly call: Call; readonly name: string }) {
  const state = call.state.value;
  return (
    <section class={`insp-answer ${state.kind}`} aria-label="Answer" aria-live="polite">
      {state.kind === "idle" ? (
        <p class="insp-nothing">The answer appears here.</p>
      ) : (
        <>
          <header class="insp-answer-head">
            <Outcome state={state} />
            {state.kind === "answered" ? <AnswerActions result={state.result} name={name} /> : null}
          </header>
          <Answer state={state} />
        </>
      )}
    </section>
  );
}

function Outcome({ state }: { readonly state: CallState }) {
  if (state.kind === "running") return <Waiting sinceMs={state.startedMs} />;
  if (state.kind === "idle") return null;
  return (
    <>
      {state.kind === "answered" ? <Badge kind="good">answered</Badge> : null}
      {state.kind === "stopped" ? <Badge kind="warn">stopped</Badge> : null}
      {state.kind === "failed" ? <Badge kind="bad">{codeOf(state.error)}</Badge> : null}
      <span class="number insp-took">{formatMs(state.tookMs)}</span>
      {state.kind === "answered" && state.preview.isCut ? (
        <span class="insp-took">Too large to be shown in full; the download has all of it.</span>
      ) : null}
    </>
  );
}

function AnswerActions({ result, name }: { readonly result: Json; readonly name: string }) {
  const text = (): string => JSON.stringify(result, null, 2);
  return (
    <span class="insp-answer-actions">
      <IconButton
        icon="copy"
        label="Copy the answer"
        onClick={() => void copyAndSay(text(), "The answer is in the clipboard.")}
      />
      <IconButton
        icon="download"
        label="Download the answer"
        onClick={() =>
          downloadBlob(new Blob([text()], { type: "application/json" }), `${name.replaceAll("/", "-")}.json`)
        }
      />
    </span>
  );
}

function Answer({ state }: { readonly state: CallState }) {
  if (state.kind === "answered") return <JsonView preview={state.preview} label="Result" />;
  if (state.kind === "stopped")
    return (
      <p class="insp-nothing">Nobody waits for the answer any more. The server may still have done it.</p>
    );
  if (state.kind !== "failed") return null;
  const { text, remedy } = describeError(state.error);
  const data = state.error instanceof RpcError ? state.error.data : undefined;
  return (
    <div class="insp-error">
      <ErrorBox text={text} remedy={remedy ?? remedyOf(state.error)} />
      {data === undefined || data === null ? null : (
        <JsonView preview={previewJson(data)} label="Data of the error" />
      )}
    </div>
  );
}

/** Of errors that only somebody sees who writes requests by hand. */
function remedyOf(error: unknown): string | undefined {
  if (!(error instanceof RpcError)) return undefined;
  return RPC_REMEDIES[String(error.rpcCode)];
}

const RPC_REMEDIES: Readonly<Record<string, string>> = {
  "-32600": "The request does not fit the state of the connection. Look at the ids that it names.",
  "-32601": "This server does not have the method.",
  "-32602": "Change the field that the message names.",
  "-32004": "What it names is not there. Look at the path or the id.",
  "-32603": "The machine failed at it. The message says with what.",
};

function codeOf(error: unknown): string {
  if (error instanceof RpcError)
    return error.code === "RPC_ERROR" ? String(error.rpcCode) : `${error.code} (${error.rpcCode})`;
  if (error instanceof ConnectionError || error instanceof ExecError) return error.code;
  return "failed";
}
