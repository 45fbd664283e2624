import type { ListedProcess } from "../../../protocol/process-extensions.ts";
import { usageFailure } from "../../shared/failure.ts";

/** A kept process as typed: `NAME`, or `OWNER/NAME` for someone else's. */
export interface KeptName {
  readonly name: string;
  readonly owner?: string;
}

const TOKEN = "name:";
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** Throws a Failure for a text that no process can be called. */
export function parseKeptName(text: string): KeptName {
  // Owners may contain slashes.
  const slash = text.lastIndexOf("/");
  checkName(text.slice(slash + 1));
  if (slash < 0) return { name: text };
  if (slash === 0) throw usageFailure(`'${text}' has no owner before its slash: write OWNER/NAME`);
  return { name: text.slice(slash + 1), owner: text.slice(0, slash) };
}

/** Throws a Failure for a name that a process cannot have. */
export function checkName(name: string): void {
  if (NAME.test(name)) return;
  throw usageFailure(
    `'${name}' cannot be the name of a process; use up to 128 letters, digits, '_', '.' and '-'`,
  );
}

/** Whether a listed process matches the typed name. */
export function matchesName(listed: ListedProcess, { name, owner }: KeptName): boolean {
  if (listed.name !== name) return false;
  return owner === undefined || listed.owner === owner || ownerText(listed) === owner;
}

/** Name of the token, or the principal of another kind. */
export function ownerText({ owner = "" }: ListedProcess): string {
  return owner.startsWith(TOKEN) ? owner.slice(TOKEN.length) : owner;
}

export function nameOf({ name, processId }: ListedProcess): string {
  return name ?? processId;
}

/** Names that can be typed: with their owner if several have a process of the same name. */
export function namesOf(processes: readonly ListedProcess[]): string[] {
  const count = new Map<string, number>();
  for (const one of processes) count.set(nameOf(one), (count.get(nameOf(one)) ?? 0) + 1);
  return processes.map((one) =>
    count.get(nameOf(one)) === 1 ? nameOf(one) : `${ownerText(one)}/${nameOf(one)}`,
  );
}
