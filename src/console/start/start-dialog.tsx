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
import { ArgumentList } from "../ui/argument-list.tsx";
import { Choice } from "../ui/choice.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { Field, writeTo } from "../ui/field.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { CommandField } from "./command-field.tsx";
import { DirectoryField } from "./directory-field.tsx";
import { EnvironmentRows, type Variable } from "./environment-rows.tsx";
import { pastStarts, type PastStart, rememberStart } from "./history.ts";
import { faultOfName, parseCommand, suggestName } from "./parse-command.ts";
import { faultOfVariables, faultsOfStart, startKept, type StartFaults } from "./start-kept.ts";

const SANDBOXES = [
  { value: "", title: "None" },
  { value: "read-only", title: "Read only: writes nothing, no network" },
  { value: "workspace-write", title: "Workspace: writes below the directory, no network" },
];

export interface StartDialogProps {
  /** Initial values of the dialog. */
  readonly wishes: {
    readonly argv?: readonly string[];
    readonly cwdUri?: string;
    readonly name?: string | undefined;
    readonly isTerminal?: boolean;
    readonly takesInput?: boolean;
  };
  readonly onClose: () => void;
}

export function StartDialog({ wishes, onClose }: StartDialogProps) {
  useProcessList();
  const host = useHost();
  const { environment } = host;
  const line = useSignal(wishes.argv === undefined ? "" : commandLine(wishes.argv));
  const usesShell = useSignal<boolean | undefined>(undefined);
  const isTerminal = useSignal(wishes.isTerminal ?? false);
  const takesInput = useSignal(wishes.takesInput ?? false);
  const typedName = useSignal<string | undefined>(undefined);
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
    () => typedName.value ?? wishes.name ?? suggestName(parsed.value.argv, new Set(byName.value.keys())),
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
  /** Focuses the faulty field once it is drawn. */
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
    const settings = {
      cwd: cwd.value,
      isTerminal: isTerminal.value,
      takesInput: takesInput.value,
      sandbox: sandbox.value,
    };
    try {
      await startKept(host, argv.value, {
        ...settings,
        name: startedName,
        replaces: sameName !== undefined,
        variables: variables.value,
      });
      rememberStart({ ...settings, line: line.value });
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
            <Choice checked={inShell.value} onChange={(checked) => (usesShell.value = checked)}>
              Run in a shell
              {usesShell.value === undefined && parsed.value.shellPart !== undefined ? (
                <span class="hint">because of {visibleText(parsed.value.shellPart)}</span>
              ) : null}
            </Choice>
            <ArgumentList argv={argv.value} />
          </div>
          <div class="start-pair">
            <fieldset>
              <legend>Runs</legend>
              {[false, true].map((onTerminal) => (
                <label key={String(onTerminal)} class="choice">
                  <input
                    type="radio"
                    name="kind"
                    checked={isTerminal.value === onTerminal}
                    onChange={() => (isTerminal.value = onTerminal)}
                  />
                  {onTerminal ? "On a terminal" : "With pipes"}
                </label>
              ))}
              <Choice
                disabled={isTerminal.value}
                checked={isTerminal.value || takesInput.value}
                onChange={(checked) => (takesInput.value = checked)}
              >
                Accept input
              </Choice>
            </fieldset>
            <Field
              label="Name"
              error={faults.value.name}
              hint={
                sameName !== undefined && !isTaken ? "Replaces the ended process of this name." : undefined
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
                    typedName.value = event.currentTarget.value;
                    clear("name");
                  }}
                />
              )}
            </Field>
          </div>
          <DirectoryField cwd={cwd} fault={faults.value.cwd} onEdit={() => clear("cwd")} />
          <Field label="Sandbox" hint={hasSandbox ? (isConfined ? CONFINED : undefined) : NO_SANDBOX}>
            {(ids) => (
              <select {...ids} disabled={!hasSandbox} value={sandbox.value} onChange={writeTo(sandbox)}>
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

const CONFINED = "Your access is always sandboxed.";
const NO_SANDBOX =
  "Not available on this server. Run exec-server doctor on its machine to see what is missing.";
const TAKEN = "A process of this name is running. Choose another name, or end that process.";
