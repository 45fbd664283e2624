import type { RequestDraft } from "./request-draft.ts";

/** Longer text would make typing slow. */
const MOST_CHARACTERS = 300_000;

/** The parameters as text. */
export function JsonEditor({ draft }: { readonly draft: RequestDraft }) {
  const text = draft.text.value;
  const fault = draft.fault.value;
  const isLong = text.length > MOST_CHARACTERS;
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
      {isLong ? <p class="hint">Too long to be edited as text. The form has it.</p> : null}
      {fault === undefined ? null : (
        <p class="hint bad" id="insp-json-fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
