import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, IconButton } from "../../ui/button.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { optionOf } from "../check-value.ts";
import { initialValue } from "../initial-value.ts";
import { isObject, type JsonPath, pathText } from "../json-path.ts";
import type { Shape, ShapeOf } from "../wire-table.ts";
import { AddButton, CodeInput } from "./controls.tsx";
import type { FieldProps } from "./form-handle.ts";
import { AnyField, ChoiceField, NumberField, SwitchField, TextField } from "./scalar-fields.tsx";

interface ShapeFieldProps extends Omit<FieldProps, "ids"> {
  /** Default: the last part of the path. */
  readonly name?: string;
  readonly isRequired?: boolean;
  readonly isRemovable?: boolean;
}

/** One value of the parameters: its name, control, description, and problem. */
export function ShapeField({ form, shape, value, path, name, isRequired, isRemovable }: ShapeFieldProps) {
  const whole = pathText(path);
  const id = `insp-${whole}`;
  const problem = form.problems.get(whole);
  const ids = {
    id,
    "aria-describedby": problem === undefined && shape.doc === undefined ? undefined : `${id}-text`,
    "aria-invalid": problem !== undefined,
  };
  const isNested = NESTED.has(shape.kind);
  const shownName = visibleText(name ?? lastOf(path));
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
            class="button insp-null code"
            type="button"
            title="Set a value"
            onClick={() => form.set(path, initialValue(shape, form.beginnings))}
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
      {isRemovable ? (
        <IconButton icon="close" label={`Remove ${visibleText(whole)}`} onClick={() => form.remove(path)} />
      ) : null}
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

/** More would slow down the form; the JSON beside it shows them all. */
const MAX_ITEMS = 200;

function ListField({ form, shape, value, path, ids }: FieldProps<ShapeOf<"list">>) {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const box = useRef<HTMLDivElement>(null);
  const isAdded = useRef(false);
  // Before the next key, which belongs to it.
  useLayoutEffect(() => {
    if (isAdded.current) focusLast(box.current);
    isAdded.current = false;
  }, [items.length]);
  const add = (): void => {
    isAdded.current = true;
    form.set([...path, items.length], initialValue(shape.item, form.beginnings));
  };
  return (
    <div class="insp-list" role="group" {...ids} ref={box}>
      {items.slice(0, MAX_ITEMS).map((item, index) => (
        <ShapeField
          key={index}
          form={form}
          shape={shape.item}
          value={item}
          path={[...path, index]}
          isRemovable
        />
      ))}
      <Rest length={items.length} />
      <AddButton onClick={add}>{items.length === 0 ? "Add an item" : "Add another"}</AddButton>
    </div>
  );
}

function MapField({ form, shape, value, path, ids }: FieldProps<ShapeOf<"map">>) {
  const entries = isObject(value) ? Object.entries(value) : [];
  const name = useSignal("");
  const isTaken = entries.some(([each]) => each === name.value);
  const add = (): void => {
    if (isTaken) return;
    form.set([...path, name.value], initialValue(shape.value, form.beginnings));
    name.value = "";
  };
  return (
    <div class="insp-list" role="group" {...ids}>
      {entries.slice(0, MAX_ITEMS).map(([each, inner]) => (
        <ShapeField
          key={each}
          form={form}
          shape={shape.value}
          value={inner}
          path={[...path, each]}
          isRemovable
        />
      ))}
      <Rest length={entries.length} />
      <div class="insp-add-entry">
        <CodeInput
          aria-label={`Name of a new entry of ${visibleText(lastOf(path))}`}
          placeholder="NAME"
          value={name.value}
          aria-invalid={isTaken}
          onText={(text) => {
            name.value = text;
          }}
          onKeyDown={(event) => event.key === "Enter" && !event.ctrlKey && add()}
        />
        <Button kind="quiet" icon="plus" disabled={isTaken} onClick={add}>
          {isTaken ? "Already exists" : "Add an entry"}
        </Button>
      </div>
    </div>
  );
}

interface ObjectFieldProps extends FieldProps<ShapeOf<"object">> {
  /** A member that is set elsewhere. */
  readonly hidden?: string | undefined;
}

export function ObjectField({ form, shape, value, path, hidden }: ObjectFieldProps) {
  const object = isObject(value) ? value : {};
  const hasMember = (name: string): boolean => Object.hasOwn(object, name);
  const shown = shape.members.filter(
    ({ name, required }) => name !== hidden && (required || hasMember(name)),
  );
  const absent = shape.members.filter(({ name, required }) => !required && !hasMember(name));
  const unknown: ShapeOf<"object">["members"] = Object.keys(object)
    .filter((name) => shape.members.every((member) => member.name !== name))
    .map((name) => ({ name, shape: UNKNOWN }));
  return (
    <div class="insp-members">
      {[...shown, ...unknown].map(({ name, required, shape: member }) => (
        <ShapeField
          key={name}
          form={form}
          shape={member}
          value={object[name]}
          path={[...path, name]}
          isRequired={required === true}
          isRemovable={required !== true}
        />
      ))}
      {absent.length === 0 ? null : (
        <div class="insp-absent" role="group" aria-label="Optional fields">
          {absent.map((member) => (
            <button
              key={member.name}
              type="button"
              title={member.shape.doc?.replaceAll("`", "")}
              onClick={() => form.set([...path, member.name], initialValue(member.shape, form.beginnings))}
            >
              <span aria-hidden="true">+ </span>
              {member.name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const UNKNOWN: Shape = { kind: "any", doc: "Not part of the protocol; the server ignores it." };

function UnionField({ form, shape, value, path, ids }: FieldProps<ShapeOf<"union">>) {
  const index = optionOf(shape, value);
  const option = shape.options[index];
  return (
    <div class="insp-union">
      <select
        {...ids}
        class="insp-choice"
        value={String(index)}
        onChange={(event) => {
          const chosen = shape.options[Number(event.currentTarget.value)];
          if (chosen !== undefined) form.set(path, initialValue(chosen, form.beginnings));
        }}
      >
        {option === undefined ? <option value="-1">something else</option> : null}
        {shape.options.map((each, at) => (
          <option key={at} value={String(at)}>
            {titleOf(each)}
          </option>
        ))}
      </select>
      {option?.kind === "object" ? (
        <ObjectField
          form={form}
          shape={option}
          value={value}
          path={path}
          ids={ids}
          hidden={fixedMember(option)}
        />
      ) : option === undefined ? null : (
        <ShapeField form={form} name="value" shape={option} value={value} path={path} />
      )}
    </div>
  );
}

/** What distinguishes an object from the others of a union: the only value of its first member. */
function titleOf(shape: Shape): string {
  const first = shape.kind === "object" ? shape.members[0] : undefined;
  if (first?.shape.kind === "choice") return first.shape.values.join(" or ");
  return shape.kind;
}

/** The member that the choice of the union sets already. */
function fixedMember({ members: [first] }: ShapeOf<"object">): string | undefined {
  return first?.shape.kind === "choice" && first.shape.values.length === 1 ? first.name : undefined;
}

function lastOf(path: JsonPath): string {
  return String(path.at(-1) ?? "params");
}

function Rest({ length }: { readonly length: number }) {
  if (length <= MAX_ITEMS) return null;
  return <p class="hint">{length - MAX_ITEMS} more are only in the JSON.</p>;
}

function focusLast(box: HTMLElement | null): void {
  const fields = box?.querySelectorAll<HTMLElement>("textarea, input, select");
  fields?.[fields.length - 1]?.focus();
}
