import type { Requirements } from "./requirement.ts";

export const processRequirements = {} satisfies Requirements;
