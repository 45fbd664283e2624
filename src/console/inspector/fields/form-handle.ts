import type { FunctionComponent } from "preact";
import type { Beginnings } from "../initial-value.ts";
import type { Problems } from "../check-value.ts";
import type { Json, JsonPath } from "../json-path.ts";
import type { Shape } from "../wire-table.ts";

/** What fields need of the form that they are in. */
export interface FormHandle {
  readonly problems: Problems;
  readonly beginnings: Beginnings;
  readonly set: (path: JsonPath, value: Json) => void;
  readonly remove: (path: JsonPath) => void;
  /** Draws what is within a field. */
  readonly Field: FunctionComponent<ShapeFieldProps>;
}

export interface ShapeFieldProps {
  readonly form: FormHandle;
  readonly name: string;
  readonly shape: Shape;
  readonly value: Json;
  readonly path: JsonPath;
  readonly isRequired?: boolean;
  readonly onRemove?: (() => void) | undefined;
}

/** Of every kind of field. */
export interface FieldProps<S extends Shape = Shape> {
  readonly form: FormHandle;
  readonly shape: S;
  readonly value: Json;
  readonly path: JsonPath;
  /** Ties the control to its label and its explanation. */
  readonly ids: {
    readonly id: string;
    readonly "aria-describedby": string | undefined;
    readonly "aria-invalid": boolean;
  };
}
