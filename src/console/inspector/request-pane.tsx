import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { Badge } from "../ui/badge.tsx";
import { Keys } from "../ui/keys.tsx";
import { AnswerPane } from "./answer-pane.tsx";
import { beginningsOf } from "./beginnings.ts";
import { checkValue } from "./check-value.ts";
import { type Copied, copiedTarget } from "./copy-button.tsx";
import { type CopiedRequest, requestCode, requestMessage } from "./copy-code.ts";
import type { FormHandle } from "./fields/form-handle.ts";
import { ShapeField, DocText } from "./fields/shape-field.tsx";
import { ObjectField } from "./fields/nested-fields.tsx";
import { forgetLargeAnswers, formOf } from "./forms.ts";
import { initialValue } from "./initial-value.ts";
import { JsonEditor } from "./json-editor.tsx";
import { removeAt, setAt } from "./json-path.ts";
import { RequestHead } from "./request-head.tsx";
import type { WireMethod } from "./wire-table.ts";

export interface RequestPaneProps {
  readonly method: WireMethod;
  /** Further buttons. */
  readonly children?: ComponentChildren;
}

/** One method: what it does, its parameters as a form and as JSON, and what it answered. */
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
    Field: ShapeField,
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
            <ShapeField form={form} name="params" shape={method.params} value={draft.value.value} path={[]} />
          )}
        </div>
        <JsonEditor draft={draft} />
      </div>
      <AnswerPane call={call} name={method.name} />
    </section>
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
      title: "Copy as a message of the wire",
      what: "The message",
      text: () => requestMessage(request()),
    },
    {
      id: "insp-copy-params",
      title: "Copy the parameters as JSON",
      what: "The JSON of the parameters",
      text: () => JSON.stringify(request().params, null, 2),
    },
  ];
}

const NO_IDS = { id: "insp-params", "aria-describedby": undefined, "aria-invalid": false };

/** Who may call it, and whether this person may. */
export function Callers({ method }: { readonly method: WireMethod }) {
  const host = useHost();
  const { right, presets, alsoNeeds, extension, name } = method;
  const preset = serverLink.rights.value?.preset;
  return (
    <p class="insp-callers">
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
