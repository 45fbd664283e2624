import { describeError } from "../connection/describe-error.ts";
import { ErrorBox } from "../ui/error-box.tsx";

/** Why a part of the view has nothing to show. */
export function Failure({ error }: { readonly error: unknown }) {
  const { text, remedy } = describeError(error);
  return (
    <div class="system-failure">
      <ErrorBox text={text} remedy={remedy} />
    </div>
  );
}
