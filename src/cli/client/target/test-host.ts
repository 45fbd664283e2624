import { formatDuration } from "../../../base/duration.ts";
import { print } from "../../shared/standard-streams.ts";
import { printable } from "../print/printable.ts";
import { openTarget } from "./connect-target.ts";
import type { Step } from "./program/bring/converse.ts";
import { resolveTarget } from "./resolve-target.ts";
import type { TargetOptions } from "./target-options.ts";

const MIB = 1_048_576;
const TIME_COLUMNS = 8;

/** Connects to a host and prints each step, with the time since the start. Rejects at the one that fails. */
export async function testHost(name: string, options: Pick<TargetOptions, "bring">): Promise<void> {
  const begun = performance.now();
  let printed = Promise.resolve();
  const say = (text: string): void => {
    const time = formatDuration(Math.round(performance.now() - begun)).padStart(TIME_COLUMNS);
    printed = printed.then(() => print(`${time}  ${printable(text)}\n`));
    printed.catch(() => {}); // Awaited at the end.
  };
  const target = await resolveTarget({ ...options, host: name });
  const onStep = (step: Step): void => {
    const text = stepText(step);
    if (text !== undefined) say(text);
  };
  try {
    await using host = await openTarget(target, {}, "session", { onStep });
    const version = host.environment?.serverVersion;
    say(version === undefined ? "the server answers" : `the server answers: version ${version}`);
    const { exitCode } = await host.run(["/bin/sh", "-c", "exit 0"]);
    say(exitCode === 0 ? "it runs a command" : `a command that should succeed ends with ${exitCode}`);
  } finally {
    await printed;
  }
}

function stepText(step: Step): string | undefined {
  switch (step.kind) {
    case "shell":
      return "its shell answers";
    case "installed":
      return "exec-server is installed there";
    case "machine":
      return `exec-server is not there yet; the machine is ${step.text}`;
    case "node":
      return `found Node ${step.text}`;
    case "no":
      return `cannot use ${step.text}`;
    case "dir":
      return `can use ${step.text}`;
    case "sending":
      return step.sent === step.total ? `sent ${(step.total / MIB).toFixed(1)} MiB` : undefined;
    case "ready":
      return `starts ${step.text}`;
  }
}
