import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useId } from "preact/hooks";
import { useHost } from "../connection/use-host.ts";
import { CODE_INPUT, Field } from "../ui/field.tsx";

const MAX_SUGGESTIONS = 200;

export interface DirectoryFieldProps {
  readonly cwd: Signal<string>;
  readonly fault: string | undefined;
  readonly onEdit: () => void;
}

/** The working directory, with completion. */
export function DirectoryField({ cwd, fault, onEdit }: DirectoryFieldProps) {
  const host = useHost();
  const listId = useId();
  const directories = useSignal<readonly string[]>([]);
  const parent = useSignal("");
  useSignalEffect(() => {
    const directory = cwd.value.slice(0, cwd.value.lastIndexOf("/") + 1);
    if (directory !== "") parent.value = directory;
  });
  useSignalEffect(() => {
    const directory = parent.value;
    if (directory === "") return;
    const abort = new AbortController();
    host.files.list(directory, { signal: abort.signal }).then(
      (entries) => {
        const listed = entries.filter(({ kind }) => kind === "directory").slice(0, MAX_SUGGESTIONS);
        directories.value = listed.map(({ name }) => `${directory}${name}`);
      },
      () => {
        directories.value = [];
      },
    );
    return () => abort.abort();
  });
  return (
    <Field label="Working directory" error={fault}>
      {(ids) => (
        <>
          <input
            {...ids}
            {...CODE_INPUT}
            list={listId}
            value={cwd.value}
            onInput={(event) => {
              cwd.value = event.currentTarget.value;
              onEdit();
            }}
          />
          <datalist id={listId}>
            {directories.value.map((path) => (
              <option key={path} value={path} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
