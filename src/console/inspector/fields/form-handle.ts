import type { FieldProps as LabelledField } from "../../ui/field.tsx";
import type { Beginnings } from "../initial-value.ts";
import type { Problems } from "../check-value.ts";
import type { Json, JsonPath } from "../json-path.ts";
import type { Shape } from "../wire-table.ts";

/** What fields need from their form. */
export interface FormHandle {
  readonly problems: Problems;
  readonly beginnings: Beginnings;
  readonly set: (path: JsonPath, value: Json) => void;
  readonly remove: (path: JsonPath) => void;
}

/** The props of every kind of field. */
export interface FieldProps<S extends Shape = Shape> {
  readonly form: FormHandle;
  readonly shape: S;
  readonly value: Json;
  readonly path: JsonPath;
  /** Ties the control to its label and its explanation. */
  readonly ids: Parameters<LabelledField["children"]>[0];
}
