import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../../ui/button.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { optionOf } from "../check-value.ts";
import { initialValue } from "../initial-value.ts";
import { isObject } from "../json-path.ts";
import type { Shape, ShapeOf } from "../wire-table.ts";
import type { FieldProps } from "./form-handle.ts";

/** More would make the form slow; the JSON beside it has them all. */
const MOST_ITEMS = 200;

export function ListField({ form, shape, value, path, ids }: FieldProps<ShapeOf<"list">>) {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const box = useRef<HTMLDivElement>(null);
  const isAdded = useRef(false);
  // Before the next key, which is meant for it.
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
      {items.slice(0, MOST_ITEMS).map((item, index) => (
        <form.Field
          key={index}
          form={form}
          name={String(index)}
          shape={shape.item}
          value={item}
          path={[...path, index]}
          onRemove={() => form.remove([...path, index])}
        />
      ))}
      <Rest length={items.length} />
      <AddButton onClick={add}>{items.length === 0 ? "Add an item" : "Add another"}</AddButton>
    </div>
  );
}

export function MapField({ form, shape, value, path, ids }: FieldProps<ShapeOf<"map">>) {
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
      {entries.slice(0, MOST_ITEMS).map(([each, inner]) => (
        <form.Field
          key={each}
          form={form}
          name={each}
          shape={shape.value}
          value={inner}
          path={[...path, each]}
          onRemove={() => form.remove([...path, each])}
        />
      ))}
      <Rest length={entries.length} />
      <div class="insp-add-entry">
        <input
          class="code"
          aria-label={`Name of a new entry of ${visibleText(String(path.at(-1) ?? "params"))}`}
          placeholder="NAME"
          spellcheck={false}
          autocomplete="off"
          value={name.value}
          aria-invalid={isTaken}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => event.key === "Enter" && !event.ctrlKey && add()}
        />
        <Button kind="quiet" icon="plus" disabled={isTaken} onClick={add}>
          {isTaken ? "It is there already" : "Add an entry"}
        </Button>
      </div>
    </div>
  );
}

export interface ObjectFieldProps extends FieldProps<ShapeOf<"object">> {
  /** A member that is set elsewhere. */
  readonly hidden?: string | undefined;
}

export function ObjectField({ form, shape, value, path, hidden }: ObjectFieldProps) {
  const object = isObject(value) ? value : {};
  const isThere = (name: string): boolean => Object.hasOwn(object, name);
  const shown = shape.members.filter(({ name, required }) => name !== hidden && (required || isThere(name)));
  const absent = shape.members.filter(({ name, required }) => !required && !isThere(name));
  const unknown = Object.keys(object).filter((name) => shape.members.every((member) => member.name !== name));
  return (
    <div class="insp-members">
      {shown.map(({ name, required, shape: member }) => (
        <form.Field
          key={name}
          form={form}
          name={name}
          shape={member}
          value={object[name]}
          path={[...path, name]}
          isRequired={required === true}
          onRemove={required ? undefined : () => form.remove([...path, name])}
        />
      ))}
      {unknown.map((name) => (
        <form.Field
          key={name}
          form={form}
          name={name}
          shape={UNKNOWN}
          value={object[name]}
          path={[...path, name]}
          onRemove={() => form.remove([...path, name])}
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

const UNKNOWN: Shape = { kind: "any", doc: "The protocol does not have it; the server ignores it." };

export function UnionField({ form, shape, value, path, ids }: FieldProps<ShapeOf<"union">>) {
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
        <form.Field form={form} name="value" shape={option} value={value} path={path} />
      )}
    </div>
  );
}

/** What tells an object apart from the others of a union: the only value of its first member. */
function titleOf(shape: Shape): string {
  const first = shape.kind === "object" ? shape.members[0] : undefined;
  if (first?.shape.kind === "choice") return first.shape.values.join(" or ");
  return shape.kind;
}

/** The member that the choice of the union sets already. */
function fixedMember({ members: [first] }: ShapeOf<"object">): string | undefined {
  return first?.shape.kind === "choice" && first.shape.values.length === 1 ? first.name : undefined;
}

function AddButton({ onClick, children }: { readonly onClick: () => void; readonly children: string }) {
  return (
    <div class="insp-add">
      <Button kind="quiet" icon="plus" onClick={onClick}>
        {children}
      </Button>
    </div>
  );
}

function Rest({ length }: { readonly length: number }) {
  if (length <= MOST_ITEMS) return null;
  return <p class="hint">{length - MOST_ITEMS} more are only in the JSON.</p>;
}

function focusLast(box: HTMLElement | null): void {
  const fields = box?.querySelectorAll<HTMLElement>("textarea, input, select");
  fields?.[fields.length - 1]?.focus();
}
