import { signal } from "@preact/signals";
import { Call } from "./call.ts";
import type { Json } from "./json-path.ts";
import { type Beginnings, initialValue } from "./initial-value.ts";
import { RequestDraft } from "./request-draft.ts";
import type { WireMethod } from "./wire-table.ts";

/** The user's input for a method, and its answer, for as long as the page is open. */
export interface MethodForm {
  readonly draft: RequestDraft;
  readonly call: Call;
}

const forms = new Map<string, MethodForm>();

/** The method that was open last. */
export const lastMethod = signal<string | undefined>(undefined);

export function formOf(method: WireMethod, beginnings: Beginnings): MethodForm {
  const known = forms.get(method.name);
  if (known !== undefined) return known;
  const form = { draft: new RequestDraft(initialValue(method.params, beginnings)), call: new Call() };
  forms.set(method.name, form);
  return form;
}

/** Fills in a form, for example with the parameters of a logged message. */
export function fillForm(method: WireMethod, params: Json, beginnings: Beginnings): void {
  formOf(method, beginnings).draft.setValue(params);
}

/** Only one large answer is kept. */
export function forgetLargeAnswers(except: Call): void {
  for (const { call } of forms.values()) if (call !== except) call.forgetLarge();
}
