import { CapabilityError } from "../../../base/errors.ts";

/** A policy that cannot be enforced as it is. Nothing may run instead. */
export class SandboxRefusal extends CapabilityError {
  constructor(message: string) {
    super("UNSUPPORTED", message);
  }
}
