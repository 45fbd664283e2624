import { ConnectionError, ExecError, RpcError } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { Badge } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { copyAndSay } from "../ui/copy-text.ts";
import { downloadBlob } from "../ui/download-blob.ts";
import { ErrorBox } from "../ui/error-box.tsx";
import { AnswerFrame } from "./answer-frame.tsx";
import type { Call } from "./call.ts";
import type { Json } from "./json-path.ts";
import { previewJson } from "./json-preview.ts";
import { JsonView } from "./json-view.tsx";

/** The answer to a call. */
export function AnswerPane({ call, name }: { readonly call: Call; readonly name: string }) {
  const state = call.state.value;
  const { kind, answer, error } = state;
  return (
    <AnswerFrame
      state={state}
      idleText="The answer appears here."
      badge={
        <>
          {kind === "answered" ? <Badge kind="good">answered</Badge> : null}
          {kind === "failed" ? <Badge kind="bad">{codeOf(error)}</Badge> : null}
        </>
      }
      head={
        answer === undefined ? null : (
          <>
            {answer.preview.isCut ? (
              <span class="hint">Too large to be shown in full; the download has all of it.</span>
            ) : null}
            <AnswerActions result={answer.result} name={name} />
          </>
        )
      }
    >
      {answer === undefined ? null : <JsonView preview={answer.preview} label="Result" />}
      {kind === "failed" ? <Failure error={error} /> : null}
      {kind === "stopped" ? (
        <p class="insp-nothing">
          You stopped waiting for the answer. The server may still have carried out the request.
        </p>
      ) : null}
    </AnswerFrame>
  );
}

function AnswerActions({ result, name }: { readonly result: Json; readonly name: string }) {
  const text = (): string => JSON.stringify(result, null, 2);
  return (
    <span class="insp-answer-actions">
      <IconButton
        icon="copy"
        label="Copy the answer"
        onClick={() => void copyAndSay(text(), "The answer was copied.")}
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

function Failure({ error }: { readonly error: unknown }) {
  const { text, remedy } = describeError(error);
  const data = error instanceof RpcError ? error.data : undefined;
  return (
    <div class="insp-error">
      <ErrorBox text={text} remedy={remedy ?? remedyOf(error)} />
      {data === undefined || data === null ? null : (
        <JsonView preview={previewJson(data)} label="Data of the error" />
      )}
    </div>
  );
}

/** Remedies for errors that only occur in requests written by hand. */
function remedyOf(error: unknown): string | undefined {
  if (!(error instanceof RpcError)) return undefined;
  return RPC_REMEDIES[String(error.rpcCode)];
}

const RPC_REMEDIES: Readonly<Record<string, string>> = {
  "-32600": "The request does not fit the state of the connection. Check the ids in it.",
  "-32601": "This server does not have the method.",
  "-32602": "Change the field that the message names.",
  "-32004": "What it names does not exist. Check the path or the id.",
  "-32603": "The machine could not do it. The message says why.",
};

function codeOf(error: unknown): string {
  if (error instanceof RpcError)
    return error.code === "RPC_ERROR" ? String(error.rpcCode) : `${error.code} (${error.rpcCode})`;
  if (error instanceof ConnectionError || error instanceof ExecError) return error.code;
  return "failed";
}
