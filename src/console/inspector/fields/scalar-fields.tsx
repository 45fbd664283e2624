import { useSignal } from "@preact/signals";
import { base64OfText, textOfBase64 } from "../base64-text.ts";
import type { Json } from "../json-path.ts";
import type { ShapeOf } from "../wire-table.ts";
import { CodeInput } from "./controls.tsx";
import type { FieldProps } from "./form-handle.ts";

const MAX_ROWS = 12;

export function TextField({ form, value, path, ids, shape }: FieldProps<ShapeOf<"text">>) {
  if (shape.format === "base64" && typeof value === "string")
    return <BytesField form={form} shape={shape} value={value} path={path} ids={ids} />;
  return <TextBox ids={ids} text={shownText(value)} onText={(text) => form.set(path, text)} />;
}

/** Bytes, entered as text or as base64. */
function BytesField({ form, value, path, ids }: FieldProps<ShapeOf<"text">>) {
  const text = textOfBase64(value as string);
  const wantsBase64 = useSignal(text === undefined);
  const isText = text !== undefined && !wantsBase64.value;
  return (
    <div class="insp-bytes">
      <TextBox
        ids={ids}
        text={isText ? text : (value as string)}
        onText={(typed) => form.set(path, isText ? base64OfText(typed) : typed)}
      />
      <select
        aria-label="How the bytes are entered"
        value={isText ? "text" : "base64"}
        onChange={(event) => {
          wantsBase64.value = event.currentTarget.value === "base64";
        }}
      >
        <option value="text" disabled={text === undefined}>
          as text
        </option>
        <option value="base64">as base64</option>
      </select>
    </div>
  );
}

interface TextBoxProps {
  readonly ids: FieldProps["ids"];
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** Grows with its lines. Shift+Enter begins another line. */
function TextBox({ ids, text, onText }: TextBoxProps) {
  const rows = Math.min(MAX_ROWS, text.split("\n", MAX_ROWS).length);
  return (
    <textarea
      {...ids}
      class="insp-text code"
      rows={rows}
      spellcheck={false}
      autocomplete="off"
      value={text}
      onInput={(event) => onText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.shiftKey && rows === 1) event.preventDefault();
      }}
    />
  );
}

export function NumberField({ form, value, path, ids }: FieldProps<ShapeOf<"number">>) {
  return (
    <CodeInput
      {...ids}
      class="insp-number code"
      inputMode="numeric"
      value={shownText(value)}
      onText={(text) => form.set(path, numberOr(text))}
    />
  );
}

/** Anything but a number stays text, and the check says so. */
function numberOr(text: string): Json {
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) || String(number) !== text.trim() ? text : number;
}

export function SwitchField({ form, value, path, ids }: FieldProps<ShapeOf<"switch">>) {
  return (
    <label class="insp-switch">
      <input
        {...ids}
        type="checkbox"
        role="switch"
        checked={value === true}
        onChange={(event) => form.set(path, event.currentTarget.checked)}
      />
      <span class="code">{shownText(value)}</span>
    </label>
  );
}

export function ChoiceField({ form, shape, value, path, ids }: FieldProps<ShapeOf<"choice">>) {
  const chosen = shape.values.indexOf(value as string);
  return (
    <select
      {...ids}
      class="insp-choice"
      value={String(chosen)}
      onChange={(event) => form.set(path, shape.values[Number(event.currentTarget.value)])}
    >
      {chosen >= 0 ? null : <option value="-1">{shownText(value)}</option>}
      {shape.values.map((each, index) => (
        <option key={String(each)} value={String(index)}>
          {String(each)}
        </option>
      ))}
    </select>
  );
}

/** Any JSON. Text that is not JSON yet stays in the field. */
export function AnyField({ form, value, path, ids }: FieldProps) {
  const unfinished = useSignal<string | undefined>(undefined);
  return (
    <TextBox
      ids={{ ...ids, "aria-invalid": unfinished.value !== undefined }}
      text={unfinished.value ?? JSON.stringify(value) ?? ""}
      onText={(text) => {
        try {
          form.set(path, JSON.parse(text));
          unfinished.value = undefined;
        } catch {
          unfinished.value = text;
        }
      }}
    />
  );
}

function shownText(value: Json): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
