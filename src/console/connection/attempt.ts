import { toast } from "../ui/toast.tsx";
import { describeFailure } from "./describe-error.ts";

/** Runs an action, and reports its failure. Returns whether it succeeded. */
export async function attempt(failure: string, act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    toast({ kind: "bad", ...describeFailure(failure, error) });
    return false;
  }
}
