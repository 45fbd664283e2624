import { IconButton } from "../../ui/button.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { initialValue } from "../initial-value.ts";
import { pathText } from "../json-path.ts";
import type { Shape } from "../wire-table.ts";
import type { FieldProps, ShapeFieldProps } from "./form-handle.ts";
import { ListField, MapField, ObjectField, UnionField } from "./nested-fields.tsx";
import { AnyField, ChoiceField, NumberField, SwitchField, TextField } from "./scalar-fields.tsx";

/** One value of the parameters: its name, its control, what it means, and what is wrong with it. */
export function ShapeField({ form, name, shape, value, path, isRequired, onRemove }: ShapeFieldProps) {
  const place = pathText(path);
  const id = `insp-${place}`;
  const problem = form.problems.get(place);
  const ids = {
    id,
    "aria-describedby": problem === undefined && shape.doc === undefined ? undefined : `${id}-text`,
    "aria-invalid": problem !== undefined,
  };
  const isNested = NESTED.has(shape.kind);
  const shownName = visibleText(name);
  return (
    <div class={`insp-field ${shape.kind}${isNested ? " nested" : ""}`}>
      <div class="insp-label">
        {isNested && shape.kind !== "union" ? (
          <span class="insp-name code">{shownName}</span>
        ) : (
          <label class="insp-name code" for={id}>
            {shownName}
          </label>
        )}
        {isRequired ? (
          <span class="insp-required" title="Required">
            <span aria-hidden="true">*</span>
            <span class="hidden-text">required</span>
          </span>
        ) : null}
        <span class="insp-type">{typeText(shape)}</span>
      </div>
      <div class="insp-control">
        {value === null && shape.nullable ? (
          <button
            {...ids}
            class="insp-null code"
            type="button"
            title="Give it a value"
            onClick={() => form.set(path, initialValue({ ...shape }, form.beginnings))}
          >
            null
          </button>
        ) : (
          <Control form={form} shape={shape} value={value} path={path} ids={ids} />
        )}
        {problem === undefined && shape.doc === undefined ? null : (
          <p
            id={`${id}-text`}
            class={problem === undefined ? "hint" : "hint bad"}
            role={problem === undefined ? undefined : "alert"}
          >
            {problem ?? <DocText text={shape.doc ?? ""} />}
          </p>
        )}
      </div>
      {onRemove === undefined ? null : (
        <IconButton icon="close" label={`Remove ${visibleText(place)}`} onClick={onRemove} />
      )}
    </div>
  );
}

const NESTED = new Set<Shape["kind"]>(["object", "list", "map", "union"]);

function Control(props: FieldProps) {
  const { shape } = props;
  switch (shape.kind) {
    case "text":
      return <TextField {...props} shape={shape} />;
    case "number":
      return <NumberField {...props} shape={shape} />;
    case "switch":
      return <SwitchField {...props} shape={shape} />;
    case "choice":
      return <ChoiceField {...props} shape={shape} />;
    case "list":
      return <ListField {...props} shape={shape} />;
    case "map":
      return <MapField {...props} shape={shape} />;
    case "object":
      return <ObjectField {...props} shape={shape} />;
    case "union":
      return <UnionField {...props} shape={shape} />;
    case "any":
    case "none":
      return <AnyField {...props} />;
  }
}

const FORMATS: Readonly<Record<string, string>> = { base64: "bytes", path: "file: URI or path" };

function typeText(shape: Shape): string {
  const text = bareTypeText(shape);
  return shape.nullable ? `${text} or null` : text;
}

function bareTypeText(shape: Shape): string {
  if (shape.kind === "text") return FORMATS[shape.format ?? ""] ?? "text";
  if (shape.kind === "list") return `list of ${bareTypeText(shape.item)}`;
  if (shape.kind === "map") return `map to ${bareTypeText(shape.value)}`;
  if (shape.kind === "union") return "one of several";
  if (shape.kind === "number") return shape.whole ? "whole number" : "number";
  return shape.kind === "any" ? "any JSON" : shape.kind;
}

/** A sentence of the protocol, in which code stands between backquotes. */
export function DocText({ text }: { readonly text: string }) {
  return (
    <>{text.split("`").map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}</>
  );
}
