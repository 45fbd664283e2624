import type { Check } from "../../../capabilities/process/sandbox-examination.ts";

export type { Check };

export function passed(name: string, detail: string): Check {
  return { name, ok: true, detail, remedies: [] };
}

export function failed(name: string, detail: string, ...remedies: readonly string[]): Check {
  return { name, ok: false, detail, remedies };
}
