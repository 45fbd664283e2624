import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { Badge } from "../ui/badge.tsx";
import { Keys } from "../ui/keys.tsx";
import { AnswerPane } from "./answer-pane.tsx";
import { checkValue } from "./check-value.ts";
import { type Copied, copiedTarget } from "./copy-button.tsx";
import { type CopiedRequest, requestCode, requestMessage } from "./copy-code.ts";
import type { FormHandle } from "./fields/form-handle.ts";
import { DocText, ObjectField, ShapeField } from "./fields/shape-field.tsx";
import { forgetLargeAnswers, formOf } from "./forms.ts";
import { beginningsOf, initialValue } from "./initial-value.ts";
import { removeAt, setAt } from "./json-path.ts";
import { RequestHead } from "./request-head.tsx";
import type { RequestDraft } from "./request-draft.ts";
import type { WireMethod } from "./wire-table.ts";

/** Longer text would make typing slow. */
const MAX_CHARACTERS = 300_000;

export interface RequestPaneProps {
  readonly method: WireMethod;
  /** Further buttons. */
  readonly children?: ComponentChildren;
}

/** One method: its description, its parameters as a form and as JSON, and its answer. */
export function RequestPane({ method, children }: RequestPaneProps) {
  const host = useHost();
  const beginnings = useMemo(() => beginningsOf(method.name, host), [method, host]);
  const { draft, call } = formOf(method, beginnings);
  const problems = useComputed(() => checkValue(method.params, draft.value.value));
  const isRunning = call.state.value.kind === "running";
  const send = (): void => {
    forgetLargeAnswers(call);
    void call.send(host, method.name, draft.value.value);
  };
  const reset = (): void => draft.setValue(initialValue(method.params, beginnings));
  const form: FormHandle = {
    problems: problems.value,
    beginnings,
    set: (path, value) => draft.setValue(setAt(draft.value.value, path, value)),
    remove: (path) => draft.setValue(removeAt(draft.value.value, path)),
  };
  return (
    <section class="insp-request" aria-label={method.name}>
      <RequestHead
        name={method.name}
        isRunning={isRunning}
        canSend={draft.fault.value === undefined}
        copies={copiesOf(() => ({ method: method.name, params: draft.value.value }))}
        onSend={send}
        onStop={() => call.stop()}
        onReset={reset}
      >
        {children}
      </RequestHead>
      <div class="insp-parts">
        <div class="insp-form" tabIndex={0} role="region" aria-label="Form">
          <p class="insp-doc">
            <DocText text={method.doc} />
          </p>
          <Callers method={method} />
          {method.params.kind === "none" ? (
            <p class="insp-nothing">It takes no parameters.</p>
          ) : method.params.kind === "object" ? (
            <ObjectField form={form} shape={method.params} value={draft.value.value} path={[]} ids={NO_IDS} />
          ) : (
            <ShapeField form={form} shape={method.params} value={draft.value.value} path={[]} />
          )}
        </div>
        <JsonEditor draft={draft} />
      </div>
      <AnswerPane call={call} name={method.name} />
    </section>
  );
}

/** The parameters as text. */
function JsonEditor({ draft }: { readonly draft: RequestDraft }) {
  const text = draft.text.value;
  const fault = draft.fault.value;
  const isLong = text.length > MAX_CHARACTERS;
  return (
    <div class="insp-editor">
      <label class="insp-editor-label" for="insp-json">
        JSON
      </label>
      <textarea
        id="insp-json"
        class="code"
        spellcheck={false}
        autocomplete="off"
        readOnly={isLong}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : "insp-json-fault"}
        value={isLong ? `${text.slice(0, 2000)}\n…` : text}
        onInput={(event) => draft.setText(event.currentTarget.value)}
      />
      {isLong ? <p class="hint">Too long to edit as text; use the form.</p> : null}
      {fault === undefined ? null : (
        <p class="hint bad" id="insp-json-fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

function copiesOf(request: () => CopiedRequest): readonly Copied[] {
  return [
    {
      id: "insp-copy-code",
      title: "Copy as TypeScript",
      what: "The code",
      text: () => requestCode(request(), copiedTarget()),
    },
    {
      id: "insp-copy-message",
      title: "Copy as a wire message",
      what: "The message",
      text: () => requestMessage(request()),
    },
    {
      id: "insp-copy-params",
      title: "Copy the parameters as JSON",
      what: "The JSON",
      text: () => JSON.stringify(request().params, null, 2),
    },
  ];
}

const NO_IDS = { id: "insp-params", "aria-describedby": undefined, "aria-invalid": false };

/** Who may call it, and whether this user may. */
export function Callers({ method }: { readonly method: WireMethod }) {
  const host = useHost();
  const { right, presets, alsoNeeds, extension, name } = method;
  const preset = serverLink.rights.value?.preset;
  return (
    <p class="insp-callers hint">
      {isAllowed(right) ? null : (
        <Badge kind="bad" title="The server will refuse it">
          not with your access{preset === undefined ? "" : `: ${preset}`}
        </Badge>
      )}
      {extension && !host.supports(name) ? <Badge kind="warn">not on this server</Badge> : null}
      <span>
        For <strong>{presets.join(", ")}</strong>
        {alsoNeeds === undefined ? null : (
          <>
            ; <code>{`${alsoNeeds.param}: "${alsoNeeds.is}"`}</code> also needs <code>{alsoNeeds.right}</code>
          </>
        )}
      </span>
      {extension ? <span>Not part of Codex</span> : null}
      <span class="insp-keys">
        <Keys keys="Ctrl+Enter" /> sends
      </span>
    </p>
  );
}
