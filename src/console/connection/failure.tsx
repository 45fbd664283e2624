import { describeError } from "./describe-error.ts";
import { ErrorBox } from "../ui/error-box.tsx";

/** Why a part of a view is empty; renders nothing without an error. */
export function Failure({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  return (
    <div class="view-failed">
      <ErrorBox {...describeError(error)} />
    </div>
  );
}
