import { useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { resultsPath } from "../../base/results-path.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { pathFromUri } from "../frame/paths.ts";
import { parseCommand } from "../start/parse-command.ts";
import { Button } from "../ui/button.tsx";
import { commandLine } from "../ui/command-line.ts";
import { ArgumentList } from "../ui/argument-list.tsx";
import { Choice } from "../ui/choice.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { CODE_INPUT, Field } from "../ui/field.tsx";
import { faultsOfJob, type JobFaults, jobArgv, type JobStart, ledgerOf } from "./job-start.ts";
import { startJob } from "./server-jobs.ts";

export interface StartJobProps {
  /** Initial values. */
  readonly wishes?: JobStart | undefined;
  readonly onStarted: (ledger: string) => void;
  readonly onClose: () => void;
}

/** The texts of the dialog. */
type Texts = Omit<JobStart, "command" | "inShell"> & { readonly line: string };

/** Asks for a file and a command for each of its rows. */
export function StartJob({ wishes, onStarted, onClose }: StartJobProps) {
  const host = useHost();
  const directory = pathFromUri(host.environment?.cwd) ?? "/";
  const texts = useSignal<Texts>({
    input: wishes?.input ?? `${directory === "/" ? "" : directory}/`,
    output: wishes?.output ?? "",
    atOnce: wishes?.atOnce ?? "",
    retries: wishes?.retries ?? "",
    timeout: wishes?.timeout ?? "",
    line: lineOf(wishes),
  });
  const replaces = useSignal(false);
  const faults = useSignal<JobFaults>({});
  const failure = useSignal<unknown>(undefined);
  const isStarting = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const job = useComputed((): JobStart => {
    const { line, output, ...rest } = texts.value;
    const { argv, shellPart } = parseCommand(line);
    const inShell = shellPart !== undefined;
    const command = inShell ? [line] : argv;
    return { ...rest, output: output === "" ? resultsPath(rest.input) : output, command, inShell };
  });
  const start = async (): Promise<void> => {
    faults.value = faultsOfJob(job.value);
    if (Object.values(faults.value).some((fault) => fault !== undefined)) {
      // Once it is drawn.
      setTimeout(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
      return;
    }
    if (isStarting.value) return;
    isStarting.value = true;
    const started = job.value;
    try {
      await startJob(host, started, replaces.value ? "--force" : undefined);
      onClose();
      onStarted(ledgerOf(started));
    } catch (error) {
      failure.value = error;
    } finally {
      isStarting.value = false;
    }
  };
  const input =
    (name: keyof Texts, fault: keyof JobFaults, more: object = {}) =>
    (ids: object) => (
      <input
        {...ids}
        {...CODE_INPUT}
        {...more}
        value={texts.value[name]}
        onInput={(event) => {
          texts.value = { ...texts.value, [name]: event.currentTarget.value };
          faults.value = { ...faults.value, [fault]: undefined };
        }}
      />
    );
  return (
    <Dialog title="Start a job over rows" size="medium" onClose={onClose}>
      <form
        ref={form}
        class="start"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <div class="start-fields">
          <Field
            label="Rows"
            hint="A CSV file with a header, or JSON Lines, on the server's machine."
            error={faults.value.input}
          >
            {input("input", "input", { autofocus: true })}
          </Field>
          <Field
            label="Command for each row"
            hint="{name} stands for the cell of the column name. It runs in the directory of the file."
            error={faults.value.command}
          >
            {input("line", "command", { placeholder: "curl -fsS {url}" })}
          </Field>
          <div class="rows-numbers">
            <Field label="Rows at once" error={faults.value.atOnce}>
              {input("atOnce", "atOnce", { placeholder: "16", inputMode: "numeric" })}
            </Field>
            <Field label="Retries" error={faults.value.retries}>
              {input("retries", "retries", { placeholder: "0", inputMode: "numeric" })}
            </Field>
            <Field label="Time limit" error={faults.value.timeout}>
              {input("timeout", "timeout", { placeholder: "none" })}
            </Field>
          </div>
          <Field label="Results" error={faults.value.output}>
            {input("output", "output", { placeholder: resultsPath(texts.value.input) })}
          </Field>
          <Choice checked={replaces.value} onChange={(checked) => (replaces.value = checked)}>
            Replace the results of an earlier job
          </Choice>
          <ArgumentList argv={jobArgv(["exec-server"], job.value, replaces.value ? "--force" : undefined)} />
          {failure.value === undefined ? null : <ErrorBox {...describeError(failure.value)} />}
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

function lineOf(wishes: JobStart | undefined): string {
  if (wishes === undefined) return "";
  return wishes.inShell ? wishes.command.join(" ") : commandLine(wishes.command);
}
