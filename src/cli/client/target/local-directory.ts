import { Failure } from "../outcome/failure.ts";

/** The working directory of this command. */
export function localDirectory(): string {
  try {
    return process.cwd();
  } catch {
    throw new Failure("the working directory does not exist any more; change to another one, or give --cwd");
  }
}
