import { useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { serverLink } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { pathFromUri } from "../frame/paths.ts";
import { pathOf } from "../processes/process-address.ts";
import { processList, refreshProcesses, useProcessList } from "../processes/process-list.ts";
import { navigate } from "../frame/router.ts";
import { Button } from "../ui/button.tsx";
import { commandLine } from "../ui/command-line.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { Field } from "../ui/field.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { CommandField } from "./command-field.tsx";
import { DirectoryField } from "./directory-field.tsx";
import { EnvironmentRows, type Variable } from "./environment-rows.tsx";
import { pastStarts, type PastStart, rememberStart } from "./history.ts";
import type { StartDialogProps } from "./start-wishes.ts";
import { faultOfName, parseCommand, suggestName } from "./parse-command.ts";
import { faultOfVariables, faultsOfStart, startKept, type StartFaults } from "./start-kept.ts";

const SANDBOXES = [
  { value: "", title: "None" },
  { value: "read-only", title: "Read only: writes nothing, no network" },
  { value: "workspace-write", title: "Workspace: writes below the directory, no network" },
];

export function StartDialog({ wishes, onClose }: StartDialogProps) {
  useProcessList();
  const host = useHost();
  const { environment } = host;
  const line = useSignal(wishes.argv === undefined ? "" : commandLine(wishes.argv));
  const usesShell = useSignal<boolean | undefined>(undefined);
  const isTerminal = useSignal(wishes.isTerminal ?? false);
  const takesInput = useSignal(wishes.takesInput ?? false);
  const givenName = useSignal<string | undefined>(undefined);
  const cwd = useSignal(pathFromUri(wishes.cwdUri ?? environment?.cwd) ?? "/");
  const variables = useSignal<readonly Variable[]>([]);
  const sandbox = useSignal("");
  const faults = useSignal<StartFaults>({});
  const isStarting = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const parsed = useComputed(() => parseCommand(line.value));
  const inShell = useComputed(() => usesShell.value ?? parsed.value.shellPart !== undefined);
  const shell = environment?.shell.path ?? "/bin/sh";
  const argv = useComputed(() => (inShell.value ? [shell, "-c", line.value] : parsed.value.argv));
  const byName = useComputed(
    () => new Map((processList.rows.value ?? []).map(({ listed }) => [listed.name ?? "", listed])),
  );
  const name = useComputed(
    () => givenName.value ?? wishes.name ?? suggestName(parsed.value.argv, new Set(byName.value.keys())),
  );
  const sameName = byName.value.get(name.value);
  const isTaken = sameName !== undefined && sameName.state !== "closed";
  const hasSandbox = environment?.capabilities?.sandboxedFileStreaming === true;
  const isConfined = serverLink.rights.value?.preset === "sandboxed";
  const clear = (field: keyof StartFaults): void => {
    if (faults.value[field] !== undefined) faults.value = { ...faults.value, [field]: undefined };
  };
  const choose = (past: PastStart): void => {
    line.value = past.line;
    cwd.value = past.cwd;
    isTerminal.value = past.isTerminal;
    takesInput.value = past.takesInput;
    sandbox.value = hasSandbox ? past.sandbox : "";
    usesShell.value = undefined;
    faults.value = {};
  };
  /** Where the person goes on, once it is drawn. */
  const focusFault = (): void => {
    setTimeout(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const start = async (): Promise<void> => {
    const { openQuote } = parsed.value;
    const nameFault = faultOfName(name.value) ?? (isTaken ? TAKEN : undefined);
    const commandFault =
      line.value.trim() === ""
        ? "Type a command."
        : openQuote !== undefined && !inShell.value
          ? `The quote ${openQuote} is not closed.`
          : undefined;
    const environment = faultOfVariables(variables.value);
    faults.value = { command: commandFault, name: nameFault, environment };
    if (commandFault !== undefined || nameFault !== undefined || environment !== undefined) {
      focusFault();
      return;
    }
    if (isStarting.value) return;
    isStarting.value = true;
    // Another one is suggested as soon as this one is taken.
    const startedName = name.value;
    try {
      await startKept(host, argv.value, {
        name: startedName,
        replaces: sameName !== undefined,
        cwd: cwd.value,
        isTerminal: isTerminal.value,
        takesInput: takesInput.value,
        variables: variables.value,
        sandbox: sandbox.value,
      });
      rememberStart({
        line: line.value,
        cwd: cwd.value,
        isTerminal: isTerminal.value,
        takesInput: takesInput.value,
        sandbox: sandbox.value,
      });
      await refreshProcesses();
      onClose();
      navigate(pathOf({ name: startedName }, { tty: isTerminal.value }));
    } catch (error) {
      faults.value = faultsOfStart(error);
      focusFault();
    } finally {
      isStarting.value = false;
    }
  };
  return (
    <Dialog title="Start a process" size="medium" onClose={onClose}>
      <form
        ref={form}
        class="start"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <div class="start-fields">
          <CommandField
            line={line}
            past={pastStarts()}
            fault={faults.value.command}
            onEdit={() => clear("command")}
            onChoose={choose}
          />
          <div class="start-argv">
            <div class="start-words" role="group" aria-label="What is run">
              {argv.value.map((word, index) => (
                <code key={index}>{word === "" ? "''" : visibleText(word)}</code>
              ))}
            </div>
            <label class="start-choice">
              <input
                type="checkbox"
                checked={inShell.value}
                onChange={(event) => {
                  usesShell.value = event.currentTarget.checked;
                }}
              />
              Run in a shell
              {usesShell.value === undefined && parsed.value.shellPart !== undefined ? (
                <span class="hint">because of {visibleText(parsed.value.shellPart)}</span>
              ) : null}
            </label>
          </div>
          <div class="start-pair">
            <fieldset class="start-kind">
              <legend>Runs</legend>
              <label class="start-choice">
                <input
                  type="radio"
                  name="kind"
                  checked={!isTerminal.value}
                  onChange={() => (isTerminal.value = false)}
                />
                With pipes
              </label>
              <label class="start-choice">
                <input
                  type="radio"
                  name="kind"
                  checked={isTerminal.value}
                  onChange={() => (isTerminal.value = true)}
                />
                On a terminal
              </label>
              <label class="start-choice">
                <input
                  type="checkbox"
                  disabled={isTerminal.value}
                  checked={isTerminal.value || takesInput.value}
                  onChange={(event) => {
                    takesInput.value = event.currentTarget.checked;
                  }}
                />
                Takes input
              </label>
            </fieldset>
            <Field
              label="Name"
              error={faults.value.name}
              hint={
                sameName !== undefined && !isTaken ? "Takes the place of the one that has ended." : undefined
              }
            >
              {(ids) => (
                <input
                  {...ids}
                  type="text"
                  spellcheck={false}
                  autocomplete="off"
                  value={name.value}
                  onInput={(event) => {
                    givenName.value = event.currentTarget.value;
                    clear("name");
                  }}
                />
              )}
            </Field>
          </div>
          <DirectoryField cwd={cwd} fault={faults.value.cwd} onEdit={() => clear("cwd")} />
          <Field label="Sandbox" hint={hasSandbox ? (isConfined ? CONFINED : undefined) : NO_SANDBOX}>
            {(ids) => (
              <select
                {...ids}
                disabled={!hasSandbox}
                value={sandbox.value}
                onChange={(event) => {
                  sandbox.value = event.currentTarget.value;
                }}
              >
                {SANDBOXES.map(({ value, title }) => (
                  <option key={value} value={value}>
                    {title}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <EnvironmentRows
            variables={variables}
            fault={faults.value.environment}
            onEdit={() => clear("environment")}
          />
          {faults.value.other === undefined ? null : <ErrorBox {...describeError(faults.value.other)} />}
        </div>
        <footer class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" icon="play" disabled={isStarting.value}>
            Start
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

const CONFINED = "Your access confines it in any case.";
const NO_SANDBOX = "The server has none. On its machine, exec-server doctor says what is missing.";
const TAKEN = "A process of this name runs. Choose another name, or end that one.";
