import type { Requirements } from "./requirement.ts";

export const valuesRequirements = {} satisfies Requirements;
